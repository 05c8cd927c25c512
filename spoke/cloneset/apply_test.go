// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-sh/flotilla/spoke/podset"
)

// budgets let so many pods go, and note who was asked for.
type budgets struct {
	left  int
	err   error
	asked []string
}

func (b *budgets) MayUpdate(_ context.Context, pod *corev1.Pod) (string, error) {
	b.asked = append(b.asked, pod.Name)
	if b.left == 0 {
		return "spent", b.err
	}
	b.left--
	return "", nil
}

// Budgets are asked in the order of the updates, up to the first that refuses: the rest is not asked for, and waits.
func TestBudgetsAreAsked(t *testing.T) {
	lost := errors.New("lost")
	for name, tc := range map[string]struct {
		guard       *budgets
		asked, left []string
		wait        string
		err         error
	}{
		"all may":      {&budgets{left: 3}, []string{"a", "b", "c"}, []string{"a", "b", "c"}, "", nil},
		"one may":      {&budgets{left: 1}, []string{"a", "b"}, []string{"a"}, "spent (b, c)", nil},
		"none may":     {&budgets{}, []string{"a"}, nil, "spent (a, b, c)", nil},
		"nobody knows": {&budgets{left: 2, err: lost}, []string{"a", "b", "c"}, []string{"a", "b"}, "the budget cannot be asked: lost (c)", lost},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{Reconciler: &Reconciler{Options: Options{Guard: tc.guard, Clock: clocktesting.NewFakePassiveClock(noon)}}}
			for _, name := range []string{"a", "b", "c"} {
				pod := isReady(name)
				p.plan.Starts = append(p.plan.Starts, pod)
				p.plan.Delete = append(p.plan.Delete, podset.Delete{Pod: pod, ForUpdate: true})
			}
			if err := p.askBudgets(t.Context()); !errors.Is(err, tc.err) {
				t.Errorf("error %v", err)
			}
			var left []string
			for i := range p.plan.Delete {
				left = append(left, p.plan.Delete[i].Pod.Name)
			}
			if d := cmp.Diff([][]string{tc.asked, tc.left}, [][]string{tc.guard.asked, left}); d != "" {
				t.Error(d)
			}
			told := ""
			if len(p.plan.Waits) > 0 {
				w := &p.plan.Waits[0]
				told = describe(w)
				if w.Reason != podset.WaitBudget || w.After != budgetRetry || w.Failed {
					t.Errorf("%+v", w)
				}
			}
			if told != tc.wait {
				t.Errorf("told %q", told)
			}
		})
	}
	nobody := &pass{Reconciler: &Reconciler{}}
	if err := nobody.askBudgets(t.Context()); err != nil {
		t.Error(err)
	}
}

func isReady(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
}

// onlyBroken lets the pods go that are not ready, as a budget does that is spent.
type onlyBroken struct{}

func (onlyBroken) MayUpdate(_ context.Context, pod *corev1.Pod) (string, error) {
	if len(pod.Status.Conditions) > 0 {
		return "spent", nil
	}
	return "", nil
}

// Pods that have used the budget up are mended, though one that is ready comes before them by its priority.
func TestBrokenPodsDoNotWaitForABudget(t *testing.T) {
	p := &pass{Reconciler: &Reconciler{Options: Options{Guard: onlyBroken{}, Clock: clocktesting.NewFakePassiveClock(noon)}}}
	p.plan.Starts = []*corev1.Pod{isReady("a"), {ObjectMeta: metav1.ObjectMeta{Name: "broken"}}, isReady("c")}
	if err := p.askBudgets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.plan.Starts) != 1 || p.plan.Starts[0].Name != "broken" {
		t.Errorf("%d start", len(p.plan.Starts))
	}
	if w := p.plan.Waits; len(w) != 1 || !cmp.Equal(w[0].Pods, []string{"a", "c"}) || w[0].After != budgetRetry {
		t.Errorf("%+v", w)
	}
}

// slow lets all pods go, and takes a second for each.
type slow struct {
	clock *clocktesting.FakePassiveClock
	asked int
}

func (s *slow) MayUpdate(context.Context, *corev1.Pod) (string, error) {
	s.asked++
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	return "", nil
}

// What is reserved for the first pods must not run out while the others are asked for: those wait for the next pass.
func TestBudgetsAreNotAskedForLong(t *testing.T) {
	guard := &slow{clock: clocktesting.NewFakePassiveClock(noon)}
	p := &pass{Reconciler: &Reconciler{Options: Options{Guard: guard, Clock: guard.clock}}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		p.plan.Starts = append(p.plan.Starts, isReady(name))
	}
	if err := p.askBudgets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if guard.asked != 3 || len(p.plan.Starts) != 3 {
		t.Errorf("%d are asked for, %d start", guard.asked, len(p.plan.Starts))
	}
	if w := p.plan.Waits; len(w) != 1 || w[0].Reason != podset.WaitBudget || w[0].After != raceRetry || len(w[0].Pods) != 3 {
		t.Errorf("%+v", w)
	}
}
