// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

func dial(t *testing.T) (*cri.Client, *crifake.Runtime) {
	t.Helper()
	h := newHost(t)
	runtime := crifake.New("containerd")
	h.serve(runtime, "c.sock")
	client, err := cri.Dial(t.Context(), "unix://"+h.path("c.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, runtime
}

func TestReads(t *testing.T) {
	client, runtime := dial(t)
	id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main", Hash: "1f"})
	runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "q", PodUID: "v", Name: "main"})
	want := cri.Container{
		ID: id, Name: "main", Pod: cri.PodRef{Namespace: "ns", Name: "p", UID: "u"},
		State: cri.ContainerRunning, Annotations: map[string]string{cri.AnnotationContainerHash: "1f"},
	}
	got, err := client.Container(t.Context(), id)
	if err != nil || got.StartedAt.IsZero() {
		t.Errorf("Container: started at %v, %v", got.StartedAt, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(cri.Container{}, "StartedAt", "CreatedAt")); diff != "" {
		t.Errorf("Container (-want +got):\n%s", diff)
	}
	sandboxes, err := client.Sandboxes(t.Context())
	if err != nil || len(sandboxes) != 2 || !sandboxes[0].Ready {
		t.Errorf("Sandboxes: %+v, %v", sandboxes, err)
	}
}

func TestUnknownContainer(t *testing.T) {
	client, _ := dial(t)
	if _, err := client.Container(t.Context(), "gone"); !errors.Is(err, cri.ErrNotFound) {
		t.Errorf("Container: %v, want ErrNotFound", err)
	}
	if _, err := client.ExecSync(t.Context(), "gone", []string{"env"}, time.Second); !errors.Is(err, cri.ErrNotFound) {
		t.Errorf("ExecSync: %v, want ErrNotFound", err)
	}
}

func TestExecSync(t *testing.T) {
	client, runtime := dial(t)
	id := runtime.Run(crifake.Container{Name: "main", Env: []string{"A=1", "B=2"}})
	got, err := client.ExecSync(t.Context(), id, []string{"env"}, 3*time.Second)
	if err != nil || string(got.Stdout) != "A=1\nB=2\n" || got.ExitCode != 0 {
		t.Errorf("ExecSync = %+v, %v", got, err)
	}
}

// What a command writes is not read when it is more than the caller takes.
func TestExecSyncOutput(t *testing.T) {
	client, runtime := dial(t)
	id := runtime.Run(crifake.Container{Name: "main", Exec: func(_ context.Context, cmd []string) (crifake.Answer, error) {
		n, err := strconv.Atoi(cmd[0])
		return crifake.Answer{Stdout: strings.Repeat("x", n/2), Stderr: strings.Repeat("y", n-n/2)}, err
	}})
	for name, tc := range map[string]struct {
		ctx   context.Context
		bytes int
		err   string
	}{
		"an environment of many Services": {t.Context(), 1000 << 10, ""},
		"more than is ever read":          {t.Context(), 2 << 20, "ExecSync: output too large: more than 1048576 bytes"},
		"some more than that":             {t.Context(), 3 << 20, "ExecSync: output too large: more than 1048576 bytes"},
		"little":                          {cri.WithMaxOutput(t.Context(), 100), 50, ""},
		"more than is asked for":          {cri.WithMaxOutput(t.Context(), 100), 101, "ExecSync: output too large: more than 100 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := client.ExecSync(tc.ctx, id, []string{strconv.Itoa(tc.bytes)}, time.Second)
			if tc.err == "" && (err != nil || len(got.Stdout)+len(got.Stderr) != tc.bytes) {
				t.Errorf("%d bytes, %v", len(got.Stdout)+len(got.Stderr), err)
			}
			if tc.err != "" && (!errors.Is(err, cri.ErrTooLarge) || err.Error() != tc.err) {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

// A command that took too long is one thing, a runtime that does not answer another.
func TestExecSyncTimes(t *testing.T) {
	client, runtime := dial(t)
	slow := runtime.Run(crifake.Container{Name: "slow", Exec: func(context.Context, []string) (crifake.Answer, error) {
		return crifake.Answer{}, crifake.TimedOut
	}})
	if _, err := client.ExecSync(t.Context(), slow, []string{"sleep"}, time.Second); !errors.Is(err, cri.ErrTimeout) {
		t.Errorf("slow command: %v, want ErrTimeout", err)
	}
	hung := runtime.Run(crifake.Container{Name: "hung", Exec: func(ctx context.Context, _ []string) (crifake.Answer, error) {
		<-ctx.Done()
		return crifake.Answer{}, ctx.Err()
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.ExecSync(ctx, hung, []string{"sleep"}, time.Second); err == nil || errors.Is(err, cri.ErrTimeout) {
		t.Errorf("hung runtime: %v, want an error that is no ErrTimeout", err)
	}
}

func TestContainersOfPodAndStop(t *testing.T) {
	client, runtime := dial(t)
	of := func(uid, name string, attempt uint32) string {
		return runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: uid, Name: name, Attempt: attempt})
	}
	first := of("u", "main", 0)
	of("v", "main", 0)
	second := of("u", "main", 1)
	if err := client.StopContainer(t.Context(), first, 7*time.Second); err != nil {
		t.Fatal(err)
	}
	got, err := client.ContainersOfPod(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	pod := cri.PodRef{Namespace: "ns", Name: "p", UID: "u"}
	want := []cri.Container{
		{ID: second, Name: "main", Pod: pod, State: cri.ContainerRunning, Attempt: 1},
		{ID: first, Name: "main", Pod: pod, State: cri.ContainerExited},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(cri.Container{}, "CreatedAt")); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if err := client.StopContainer(t.Context(), first, time.Second); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	if diff := cmp.Diff([]crifake.Stop{{ID: first, Grace: 7 * time.Second}}, runtime.Stops()); diff != "" {
		t.Errorf("stops (-want +got):\n%s", diff)
	}
}
