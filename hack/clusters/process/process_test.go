// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"
	for name, comm := range map[string]string{"plain": "(sleep)", "parentheses and blanks": "(a) S (b c)"} {
		state, start, err := parseStat([]byte("77 " + comm + rest))
		if err != nil || state != "S" || start != "4242" {
			t.Errorf("%s: state %q start %q error %v", name, state, start, err)
		}
	}
	for _, bad := range []string{"", "77 (sleep", "77 (sleep) S 1 2"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestAReusedPIDIsNotOurs(t *testing.T) {
	id, err := identity(os.Getpid())
	if err != nil || id == "" {
		t.Fatalf("identity %q, error %v", id, err)
	}
	if !(record{PID: os.Getpid(), Start: id}).runs() {
		t.Error("this process does not run")
	}
	if (record{PID: os.Getpid(), Start: id + "0"}).runs() {
		t.Error("a process that began at another time was taken for ours")
	}
	if (record{}).runs() || (record{PID: 1 << 22, Start: id}).runs() {
		t.Error("a process that does not exist runs")
	}
}

func sleeper(name string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", "echo begun; exec sleep 100"}}
}

func ensure(t *testing.T, g *Group, spec Spec, wantStarted bool) {
	t.Helper()
	if started, err := g.Ensure(t.Context(), spec); err != nil || started != wantStarted {
		t.Fatalf("%s: started %v, want %v, error %v", spec.Name, started, wantStarted, err)
	}
}

func pidOf(t *testing.T, g *Group, name string) int {
	t.Helper()
	list, err := g.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name && p.Running {
			return p.PID
		}
	}
	return 0
}

func newGroup(t *testing.T) *Group {
	g := Open(t.TempDir())
	t.Cleanup(func() {
		if err := g.StopAll(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestEnsureRepairsAndLeavesAlone(t *testing.T) {
	g := newGroup(t)
	ensure(t, g, sleeper("a"), true)
	first := pidOf(t, g, "a")
	g = Open(g.dir) // as another run of the tool
	ensure(t, g, sleeper("a"), false)
	if pidOf(t, g, "a") != first {
		t.Error("a running process was replaced")
	}
	changed := sleeper("a")
	changed.Fingerprint = "new configuration"
	ensure(t, g, changed, true)
	second := pidOf(t, g, "a")
	if second == first {
		t.Error("a changed process was left alone")
	}
	p, err := os.FindProcess(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for pidOf(t, g, "a") != 0 {
		time.Sleep(time.Millisecond)
	}
	ensure(t, g, changed, true)
	pids, err := os.ReadFile(filepath.Join(g.dir, "pids"))
	if want := fmt.Sprintf("%d a\n", pidOf(t, g, "a")); err != nil || string(pids) != want {
		t.Errorf("pids %q, want %q, error %v", pids, want, err)
	}
}

func TestEnsureReplacesWhatDoesNotAnswer(t *testing.T) {
	g := newGroup(t)
	answer := filepath.Join(g.dir, "answer")
	spec := Spec{Name: "a", Path: "/bin/sh", Args: []string{"-c", "touch " + answer + "; exec sleep 100"}, Ready: exists(answer), Timeout: 500 * time.Millisecond}
	ensure(t, g, spec, true)
	first := pidOf(t, g, "a")
	if err := os.Remove(answer); err != nil {
		t.Fatal(err)
	}
	ensure(t, g, spec, true)
	if second := pidOf(t, g, "a"); second == first || second == 0 {
		t.Errorf("pid %d, then %d", first, second)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	never := func(context.Context) error { return errors.New("not listening") }
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"ends":        {"echo out of luck; exit 3", []string{"bad", "exit status 3", "out of luck"}},
		"never ready": {"echo still thinking; exec sleep 100", []string{"bad", "not listening", "still thinking"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			_, err := g.Ensure(t.Context(), Spec{Name: "bad", Path: "/bin/sh", Args: []string{"-c", c.script}, Ready: never, Timeout: 700 * time.Millisecond})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if list, err := g.List(); err != nil || len(list) != 0 || len(marked(g.mark())) != 0 {
				t.Errorf("left: %v, error %v", list, err)
			}
		})
	}
}

func TestStopGoesByRoleAndKillsTheStubborn(t *testing.T) {
	g := newGroup(t)
	order := filepath.Join(g.dir, "order")
	for name, role := range map[string]Role{"etcd": Store, "web": Component, "api": APIServer} {
		script := fmt.Sprintf("trap 'echo %s >>%s; exit' TERM; touch %s/%s; while :; do sleep 0.02; done", name, order, g.dir, name)
		ensure(t, g, Spec{Name: name, Role: role, Path: "/bin/sh", Args: []string{"-c", script}, Ready: exists(filepath.Join(g.dir, name))}, true)
	}
	stubborn := filepath.Join(g.dir, "stubborn")
	ensure(t, g, Spec{
		Name: "stubborn", Role: Controller, Path: "/bin/sh", Grace: 200 * time.Millisecond,
		Args: []string{"-c", "trap '' TERM; touch " + stubborn + "; while :; do sleep 0.02; done"}, Ready: exists(stubborn),
	}, true)
	if err := g.StopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(order)
	if err != nil || string(got) != "web\napi\netcd\n" {
		t.Errorf("order %q, error %v", got, err)
	}
	if list, err := g.List(); err != nil || len(list) != 0 {
		t.Errorf("left: %v, error %v", list, err)
	}
}

func exists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}

func TestUndoStopsOnlyWhatThisRunStarted(t *testing.T) {
	g := newGroup(t)
	ensure(t, g, sleeper("old"), true)
	g = Open(g.dir)
	ensure(t, g, sleeper("new"), true)
	if err := g.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pidOf(t, g, "old") == 0 || pidOf(t, g, "new") != 0 {
		t.Errorf("old %d, new %d", pidOf(t, g, "old"), pidOf(t, g, "new"))
	}
}

func TestStopAllFindsProcessesWithoutRecord(t *testing.T) {
	g := newGroup(t)
	ensure(t, g, sleeper("lost"), true)
	pid := pidOf(t, g, "lost")
	if err := os.Remove(g.recordPath("lost")); err != nil {
		t.Fatal(err)
	}
	if err := g.StopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := identity(pid); err != nil || id != "" {
		t.Errorf("process %d still runs, error %v", pid, err)
	}
}
