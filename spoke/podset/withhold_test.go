// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Whatever way pods are updated, their start can be taken out of the plan, in part or whole; what else is planned stays.
func TestWithhold(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"in place":            func(*scene) {},
		"in place, in grace":  func(s *scene) { s.rules.Update.GraceSeconds = 30 },
		"recreated":           func(s *scene) { s.rules.Update.Policy = Recreate },
		"marked for deletion": func(s *scene) { s.rules.Update.Policy, s.rules.Update.ReplaceFirst = Recreate, true },
		"held by a hook": func(s *scene) {
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}}}
			for _, pod := range s.snapshot.Pods {
				pod.Labels["hold"] = "1"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(rollout.Budget{Replicas: 3, MaxUnavailable: 3}).add("a", 1).add("b", 1).add("c", 1, noGate)
			change(s)
			plan := Make(&s.snapshot, &s.rules)
			refreshed := kinds(&plan)[Refresh]
			if got := names(plan.Starts); len(got) < 2 {
				t.Fatalf("updates of %v start: %+v", got, plan)
			}
			first, others := plan.Starts[0], plan.Starts[1:]
			plan.Withhold(others, Wait{Reason: WaitBudget, Message: "spent"})
			if d := cmp.Diff([]string{first.Name}, names(plan.Starts)); d != "" {
				t.Error(d)
			}
			if n := started(&plan); n != 1 {
				t.Errorf("%d updates are in the plan", n)
			}
			if plan.Waits[0].Reason != WaitBudget && plan.Waits[1].Reason != WaitBudget {
				t.Errorf("waits %+v", plan.Waits)
			}
			plan.Withhold(plan.Starts, Wait{Reason: WaitBudget, Message: "spent"})
			if n := started(&plan); n != 0 || len(plan.Starts) != 0 || kinds(&plan)[Refresh] != refreshed {
				t.Errorf("%d updates are in the plan, %v", n, kinds(&plan))
			}
			for _, w := range plan.Waits {
				if w.Reason == WaitGrace || w.Reason == WaitHook {
					t.Errorf("nothing was started, and it waits for %+v", w)
				}
				if w.Reason == WaitBudget && len(w.Pods) != len(others)+1 {
					t.Errorf("it waits for %v", w.Pods)
				}
			}
		})
	}
}

func names(pods []*corev1.Pod) (out []string) {
	for _, pod := range pods {
		out = append(out, pod.Name)
	}
	return out
}

func kinds(p *Plan) map[ChangeKind]int {
	out := map[ChangeKind]int{}
	for i := range p.Change {
		out[p.Change[i].Kind]++
	}
	return out
}

// started counts the updates that a plan starts.
func started(p *Plan) int {
	all := kinds(p)
	n := all[UpdateInPlace] + all[PrepareUpdate] + all[MarkForRecreate]
	for i := range p.Delete {
		if p.Delete[i].ForUpdate {
			n++
		}
	}
	return n
}
