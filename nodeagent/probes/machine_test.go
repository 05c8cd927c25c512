// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

var (
	marked   = key{"u", "main", "m#p"}
	liveness = key{"u", "main", "pod-main"}
)

func thresholds(success, failure int32) *corev1.Probe {
	return &corev1.Probe{SuccessThreshold: success, FailureThreshold: failure}
}

func TestMachine(t *testing.T) {
	ok, no := observation{succeeded, "c1", "fine"}, observation{failed, "c1", "bad"}
	for name, tc := range map[string]struct {
		k     key
		probe *corev1.Probe
		from  machine
		seen  []observation
		want  string
	}{
		"PM-02 no container":             {marked, thresholds(0, 0), machine{}, []observation{{sight: absent}}, "Unknown Container(main) has not been created yet"},
		"no container after a result":    {marked, thresholds(0, 0), machine{instance: "c1", state: "Succeeded", message: "fine"}, []observation{{sight: absent}}, "Succeeded fine"},
		"too early":                      {marked, thresholds(0, 0), machine{}, []observation{{early, "c1", ""}}, "Unknown "},
		"created after it was missed":    {marked, thresholds(0, 0), machine{}, []observation{{sight: absent}, {early, "c1", ""}}, "Unknown "},
		"first success":                  {marked, thresholds(0, 0), machine{}, []observation{ok}, "Succeeded fine"},
		"first failure":                  {marked, thresholds(0, 0), machine{}, []observation{no}, "Failed bad"},
		"below the success threshold":    {marked, thresholds(2, 1), machine{}, []observation{ok}, "Unknown "},
		"at the success threshold":       {marked, thresholds(2, 1), machine{}, []observation{ok, ok}, "Succeeded fine"},
		"below the failure threshold":    {marked, thresholds(1, 3), machine{}, []observation{ok, no, no}, "Succeeded fine"},
		"a success between":              {marked, thresholds(1, 3), machine{}, []observation{ok, no, no, ok, no, no}, "Succeeded fine"},
		"at the failure threshold":       {marked, thresholds(1, 3), machine{}, []observation{ok, no, no, no}, "Failed bad"},
		"message changes":                {marked, thresholds(1, 1), machine{}, []observation{ok, {succeeded, "c1", "finer"}}, "Succeeded finer"},
		"errors change nothing":          {marked, thresholds(1, 1), machine{}, []observation{ok, {unclear, "c1", "gone"}, {unclear, "c1", "gone"}}, "Succeeded fine"},
		"errors do not count":            {marked, thresholds(1, 2), machine{}, []observation{ok, no, {unclear, "c1", "gone"}, no}, "Failed bad"},
		"an error before any result":     {marked, thresholds(1, 1), machine{}, []observation{{unclear, "c1", "no such file"}}, "Unknown no such file"},
		"not running":                    {marked, thresholds(1, 9), machine{}, []observation{ok, {stopped, "c1", ""}}, "Failed Container(main) is Non-running"},
		"not running, liveness":          {liveness, thresholds(1, 9), machine{}, []observation{ok, {stopped, "c1", ""}}, "Unknown Container(main) is Non-running"},
		"new instance":                   {marked, thresholds(1, 1), machine{}, []observation{ok, {early, "c2", ""}}, "Unknown "},
		"runs do not outlive instances":  {marked, thresholds(1, 2), machine{}, []observation{ok, no, {failed, "c2", "bad"}}, "Unknown "},
		"goes on from the status":        {marked, thresholds(1, 1), machine{instance: "c1", state: "Succeeded", message: "fine"}, []observation{{early, "c1", ""}}, "Succeeded fine"},
		"from a status without instance": {marked, thresholds(1, 2), machine{state: "Succeeded", message: "fine"}, []observation{no}, "Succeeded fine"},
		"from another instance's status": {marked, thresholds(1, 1), machine{instance: "c0", state: "Succeeded"}, []observation{{early, "c1", ""}}, "Unknown "},
	} {
		t.Run(name, func(t *testing.T) {
			m := tc.from
			for _, seen := range tc.seen {
				m = m.next(tc.k, tc.probe, seen)
			}
			if got := fmt.Sprintf("%s %s", m.state, m.message); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOtherHandlerBeginsAnew(t *testing.T) {
	m := machine{}.next(marked, thresholds(1, 2), observation{succeeded, "c1", "fine"}).next(marked, thresholds(1, 2), observation{failed, "c1", "bad"})
	m = m.forget()
	if m.state != v1alpha1.ProbeUnknown || m.message != "" || m.instance != "c1" {
		t.Errorf("after forget: %+v", m)
	}
	if m = m.next(marked, thresholds(1, 2), observation{failed, "c1", "bad"}); m.state != v1alpha1.ProbeUnknown {
		t.Errorf("a failure of the old handler was counted: %+v", m)
	}
	if (machine{}).forget() != (machine{}) {
		t.Error("what has seen nothing has nothing to forget")
	}
}

// TestMachineAgainstModel plays arbitrary observations to the machine and to the simplest thing that does what the
// kubelet's documentation says: look at all results since the instance began, and take the last that came often
// enough in a row.
func TestMachineAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probe := thresholds(rapid.Int32Range(-1, 4).Draw(t, "success"), rapid.Int32Range(-1, 4).Draw(t, "failure"))
		var m machine
		var history []observation
		instances := 1
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			seen := observation{sight: rapid.SampledFrom([]sight{absent, stopped, early, unclear, succeeded, failed, succeeded, failed}).Draw(t, "sight")}
			if len(history) > 0 && history[len(history)-1].sight == stopped || rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				instances++ // what stopped never runs again
			}
			if seen.sight != absent {
				seen.instance, seen.message = fmt.Sprintf("c%d", instances), fmt.Sprintf("m%d", i)
			}
			history = append(history, seen)
			m = m.next(marked, probe, seen)
			if want := modelled(history, probe); m.state != want {
				t.Fatalf("state %s, want %s after %v with %d/%d", m.state, want, history, probe.SuccessThreshold, probe.FailureThreshold)
			}
		}
	})
}

func modelled(history []observation, p *corev1.Probe) v1alpha1.ProbeState {
	state, begun := v1alpha1.ProbeUnknown, 0
	for i, seen := range history {
		if seen.sight == absent {
			continue
		}
		if begunIn(history[:i]) != seen.instance {
			state, begun = v1alpha1.ProbeUnknown, i
		}
		switch {
		case seen.sight == stopped:
			state = v1alpha1.ProbeFailed
		case seen.sight == succeeded && inRow(history[begun:i+1], succeeded) >= max(p.SuccessThreshold, 1):
			state = v1alpha1.ProbeSucceeded
		case seen.sight == failed && inRow(history[begun:i+1], failed) >= max(p.FailureThreshold, 1):
			state = v1alpha1.ProbeFailed
		}
	}
	return state
}

// begunIn is the last instance that was seen.
func begunIn(history []observation) string {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].instance != "" {
			return history[i].instance
		}
	}
	return ""
}

// inRow counts how many of the last results, of those that are any, are alike.
func inRow(history []observation, want sight) int32 {
	var n int32
	for i := len(history) - 1; i >= 0; i-- {
		switch history[i].sight {
		case want:
			n++
		case succeeded, failed:
			return n
		}
	}
	return n
}
