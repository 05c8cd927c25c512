// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

func inState(state appsv1beta1.LifecycleStateType) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[appsv1beta1.LifecycleStateKey] = string(state) }
}

func labelled(key string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = "1" } }

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason})
	}
}

// told is the plan's waits as words: reason, message, pods, and when.
func told(s *scene) []string {
	plan := Make(&s.snapshot, &s.rules)
	var out []string
	for i := range plan.Waits {
		w := &plan.Waits[i]
		line := w.Reason + ": " + w.Message
		if len(w.Pods) > 0 {
			line += " [" + strings.Join(w.Pods, " ") + "]"
		}
		if !w.Until.IsZero() {
			line += " until " + w.Until.Format(time.TimeOnly)
		}
		if w.After > 0 {
			line += " after " + w.After.String()
		}
		if w.Failed {
			line += " FAILED"
		}
		out = append(out, line)
	}
	return out
}

// Every wait says why nothing moves, and names pods, hooks, containers and times.
func TestWaitsAreTold(t *testing.T) {
	hooked := func(s *scene) *scene {
		hook := &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}, FinalizersHandler: []string{"example.com/hold"}}
		s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: hook, PreDelete: hook, PreNormal: hook}
		return s
	}
	with := func(s *scene, change func(*scene)) *scene { change(s); return s }
	one := rollout.Budget{Replicas: 1, MaxUnavailable: 1}
	same := rollout.Budget{Replicas: 1, MaxUnavailable: 1, SameRevision: true}
	for name, tc := range map[string]struct {
		s    *scene
		want []string
	}{
		"at rest, nothing": {newScene(one).add("a", 2), nil},
		"partition": {newScene(rollout.Budget{Replicas: 3, Partition: 2, MaxUnavailable: 1}).add("a", 1).add("b", 1).add("c", 2),
			[]string{"PartitionReached: partition 2 keeps 2 pods at the old revision"}},
		"partition raised behind what was updated (CS-19)": {newScene(rollout.Budget{Replicas: 3, Partition: 2, MaxUnavailable: 1}).add("a", 1).add("b", 2).add("c", 2),
			[]string{"PartitionReached: partition 2 keeps 1 pod at the old revision; 1 pod beyond it updated before: not moved back, as gate CloneSetPartitionRollback is off"}},
		"partition raised, gate on (CS-19)": {newScene(rollout.Budget{Replicas: 3, Partition: 2, MaxUnavailable: 1, Rollback: true}).add("a", 1).add("b", 2).add("c", 2), nil},
		"partition with nothing to update":  {newScene(rollout.Budget{Replicas: 1, Partition: 1, SameRevision: true}).add("a", 2), nil},
		"paused": {with(newScene(one).add("a", 1), func(s *scene) { s.rules.Update.Hold = &Wait{Reason: "Paused", Message: "paused is true"} }),
			[]string{"Paused: paused is true [a]"}},
		"paused with nothing to do": {with(newScene(same).add("a", 2), func(s *scene) { s.rules.Update.Hold = &Wait{Reason: "Paused"} }), nil},
		"budget used up by a pod": {newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 1}).add("a", 1).add("b", 2, notReady), []string{
			"MaxUnavailableReached: maxUnavailable 1 is used up: 2 pods wanted, 2 there, 1 of them unavailable (b)", "PodsNotReady: pods are not ready [b]"}},
		"budget used up by five pods": {newScene(rollout.Budget{Replicas: 6, MaxUnavailable: 5}).add("a", 1).add("b", 2, notReady).add("c", 2, notReady).add("d", 2, notReady).add("e", 2, notReady).add("f", 2, notReady), []string{
			"MaxUnavailableReached: maxUnavailable 5 is used up: 6 pods wanted, 6 there, 5 of them unavailable (b, c, d and 2 more)", "PodsNotReady: pods are not ready [b c d e f]"}},
		"no budget at all": {newScene(rollout.Budget{Replicas: 1}).add("a", 1), []string{
			"MaxUnavailableReached: maxUnavailable 0 is used up: 1 pod wanted, 1 there, 0 of them unavailable"}},
		"deletion asked for, no budget": {newScene(rollout.Budget{Replicas: 2, SameRevision: true}).add("a", 2, specified).add("b", 2), []string{
			"MaxUnavailableReached: maxUnavailable 0 is used up: 2 pods wanted, 2 there, 0 of them unavailable: ready pods to be deleted stay [a]"}},
		"creation": {newScene(rollout.Budget{Replicas: 3, CreateLimit: 1, SameRevision: true}).add("a", 2, notReady), []string{
			"ScaleUpLimited: scaleStrategy.maxUnavailable lets 1 pod be unavailable: creating 0 of 2 [a]", "PodsNotReady: pods are not ready [a]"}},
		"more to remove": {hooked(newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1, SameRevision: true}).add("a", 2).add("b", 2).add("c", 2, inState("PreparingDelete"), labelled("hold"))), []string{
			"LifecycleHook: preDelete hook held by label hold=1 [c]", "DeletionsRunning: 1 pod more to go: which is decided when those leaving are gone [c]"}},
		"no more to remove": {hooked(newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 1, SameRevision: true}).add("a", 2).add("b", 2).add("c", 2, inState("PreparingDelete"), labelled("hold"))), []string{
			"LifecycleHook: preDelete hook held by label hold=1 [c]"}},
		"claims": {with(newScene(rollout.Budget{Replicas: 2, SameRevision: true}).add("a", 2), func(s *scene) { s.replicas.Awaited = []string{"z"} }), []string{
			"ClaimsInUse: claims to be used again belong to pods that are not gone yet [z]"}},
		"update hook": {hooked(newScene(one).add("a", 1, inState("PreparingUpdate"), labelled("hold"), func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })), []string{
			"LifecycleHook: inPlaceUpdate hook held by finalizer example.com/hold, label hold=1 [a]"}},
		"updated, the hook is to come back": {hooked(newScene(same).add("a", 2, inState("Updated"), labelled("hold"))), []string{
			"LifecycleHook: inPlaceUpdate hook: waits to get back finalizer example.com/hold [a]"}},
		"preNormal hook": {hooked(newScene(same).add("a", 2, inState("PreparingNormal"), labelled("hold"))), []string{
			"LifecycleHook: preNormal hook: waits for finalizer example.com/hold [a]"}},
		"not scheduled": {newScene(rollout.Budget{Replicas: 2, SameRevision: true}).add("a", 2, inState("PreparingNormal"), unscheduled, notReady).
			add("b", 2, inState("PreparingNormal"), unscheduled, notReady, condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable")), []string{
			"PodsNotScheduled: the scheduler has not placed these pods yet [a]", "PodsNotScheduled: the scheduler has not placed these pods yet (Unschedulable) [b]"}},
		"a readiness gate of somebody": {newScene(same).add("a", 2, notReady, condition(corev1.ContainersReady, corev1.ConditionTrue, ""), func(p *corev1.Pod) {
			p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "example.com/lb"})
		}), []string{"PodsNotReady: pods are not ready though their containers are: readiness gate example.com/lb [a]"}},
		"minReadySeconds": {with(newScene(rollout.Budget{Replicas: 2, SameRevision: true}).add("a", 2).add("b", 2), func(s *scene) { s.rules.MinReady = time.Hour + 10*time.Second }), []string{
			"MinReadySeconds: ready pods count as available after minReadySeconds (1h0m10s) [a b] until 12:00:10 after 10s"}},
		"priority": {with(newScene(one).add("a", 1), func(s *scene) {
			s.replicas.Ordering.Priority = &appsv1beta1.UpdatePriorityStrategy{WeightPriority: []appsv1beta1.UpdatePriorityWeightTerm{{MatchSelector: metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Nonsense"}}}}}}
		}), []string{`InvalidPriorityStrategy: priorityStrategy.weightPriority[0].matchSelector: "Nonsense" is not a valid label selector operator FAILED`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, told(tc.s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is told of an in-place update while it goes on: the time of its grace period, the same for all pods and on
// every pass, then the container that has not restarted, by its image and that of the runtime.
func TestWaitsOfAnInPlaceUpdate(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 2}).add("a", 1).add("b", 1)
	for _, pod := range s.snapshot.Pods {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "c:1", ImageID: "id-1", Ready: true}}
	}
	s.rules.Update.GraceSeconds = 30
	pass := func(at time.Duration) []string {
		s.snapshot.Now = noon.Add(at)
		out := told(s)
		plan := Make(&s.snapshot, &s.rules)
		for i := range plan.Change {
			c := &plan.Change[i]
			after := c.Pod.DeepCopy()
			for j := range c.Writes {
				c.Writes[j].Patch.ApplyTo(after)
			}
			s.snapshot.Pods[slices.Index(s.snapshot.Pods, c.Pod)] = after
		}
		return out
	}
	const grace = "GracePeriod: containers are changed after the grace period [a b] until 12:00:30 after "
	for i, step := range []struct {
		at   time.Duration
		want []string
	}{
		{0, []string{grace + "30s"}},
		{10500 * time.Millisecond, []string{grace + "20s"}},
		{20 * time.Second, []string{grace + "10s"}},
		{30 * time.Second, nil},
		{31 * time.Second, []string{"InPlaceUpdateRunning: container c has not restarted with image c:2 yet: the runtime still reports c:1 [a b]"}},
	} {
		if diff := cmp.Diff(step.want, pass(step.at)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	s.snapshot.Pods[0].Status.ContainerStatuses = nil
	if diff := cmp.Diff([]string{
		"InPlaceUpdateRunning: container c has not restarted with image c:2 yet: the runtime still reports c:1 [b]",
		"InPlaceUpdateRunning: container c has not started yet [a]"}, pass(32*time.Second)); diff != "" {
		t.Error(diff)
	}
}

// The passing of time alone changes no wait but by when it ends: a status made of it is written once.
func TestWaitsStandStill(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 2, SameRevision: true}).add("a", 2).add("b", 2, inState("PreparingNormal"), unscheduled, notReady)
	s.rules.MinReady = 2 * time.Hour
	first := Make(&s.snapshot, &s.rules).Waits
	for second := range 100 {
		s.snapshot.Now = noon.Add(time.Duration(second) * 777 * time.Millisecond)
		again := Make(&s.snapshot, &s.rules).Waits
		for i := range again {
			again[i].After = first[i].After
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("second %d: %s", second, diff)
		}
	}
}

// The most telling comes first: failures, then who must act, then what passes by itself.
func TestWaitsAreSorted(t *testing.T) {
	l := waits{}
	for _, reason := range []string{WaitPartition, WaitReadiness, "Paused", WaitHook, WaitMinReady} {
		l.add(Wait{Reason: reason})
	}
	l.add(Wait{Reason: "Zzz"})
	l.add(Wait{Reason: WaitBroken, Failed: true})
	var got []string
	for _, w := range l.sorted() {
		got = append(got, w.Reason)
	}
	want := []string{WaitBroken, WaitHook, "Paused", WaitReadiness, WaitMinReady, WaitPartition, "Zzz"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Equal waits are one: all pods, the soonest time.
func TestWaitsAreJoined(t *testing.T) {
	l := waits{}
	for i, at := range []time.Duration{20, 10, 0, 30} {
		w := Wait{Reason: WaitGrace, Message: "m", Pods: []string{fmt.Sprint(i)}, After: at * time.Second}
		if at > 0 {
			w.Until = noon.Add(at * time.Second)
		}
		l.add(w)
	}
	want := []Wait{{Reason: WaitGrace, Message: "m", Pods: []string{"0", "1", "2", "3"}, After: 10 * time.Second, Until: noon.Add(10 * time.Second)}}
	if diff := cmp.Diff(want, l.sorted()); diff != "" {
		t.Error(diff)
	}
}
