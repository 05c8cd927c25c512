// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func revisionOf(n int) *appsv1.ControllerRevision {
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"template": corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: fmt.Sprint("c:", n)}}},
	}}})
	if err != nil {
		panic(err)
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w-", n), UID: types.UID(fmt.Sprint("r", n))}, Revision: int64(n),
		Data: runtime.RawExtension{Raw: raw},
	}
}

// scene is a snapshot with rules, ready to be planned.
type scene struct {
	snapshot Snapshot
	rules    Rules
	replicas *Replicas
}

// newScene has revisions w-1 (current) and w-2 (update).
func newScene(budget rollout.Budget) *scene {
	if budget.CreateLimit == 0 {
		budget.CreateLimit = 1000
	}
	one, two := revisionOf(1), revisionOf(2)
	s := &scene{replicas: &Replicas{Budget: budget}}
	s.snapshot = Snapshot{Now: noon, Update: two, Current: one, Revisions: []*appsv1.ControllerRevision{one, two}}
	s.rules = Rules{
		Members: s.replicas, KeepFinished: 3,
		Update: UpdateRules{Policy: InPlaceIfPossible, Differ: &inplace.Differ{}},
		RevisionLabels: func(r *appsv1.ControllerRevision) map[string]string {
			return map[string]string{appsv1beta1.ControllerRevisionHashLabel: r.Name}
		},
	}
	return s
}

// add puts a running, ready pod of a revision into the scene, after change.
func (s *scene) add(name string, revision int, change ...func(*corev1.Pod)) *scene {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			appsv1beta1.ControllerRevisionHashLabel: fmt.Sprint("w-", revision), appsv1beta1.LifecycleStateKey: string(appsv1beta1.LifecycleStateNormal)}},
		Spec: corev1.PodSpec{
			NodeName: "n", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: appsv1beta1.InPlaceUpdateReady}},
			Containers: []corev1.Container{{Name: "c", Image: fmt.Sprint("c:", revision)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))},
			{Type: appsv1beta1.InPlaceUpdateReady, Status: corev1.ConditionTrue},
		}},
	}
	for _, f := range change {
		f(pod)
	}
	s.snapshot.Pods = append(s.snapshot.Pods, pod)
	slices.SortFunc(s.snapshot.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func notReady(p *corev1.Pod)    { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func specified(p *corev1.Pod)   { p.Labels[appsv1beta1.SpecifiedDeleteKey] = "" }
func noGate(p *corev1.Pod)      { p.Status.Conditions = p.Status.Conditions[:1] }
func unscheduled(p *corev1.Pod) { p.Spec.NodeName = "" }
func failed(p *corev1.Pod)      { p.Status.Phase = corev1.PodFailed }
func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }

// moves lists the plan as words.
func (s *scene) moves() []string {
	plan := Make(&s.snapshot, &s.rules)
	var out []string
	for _, c := range plan.Create {
		out = append(out, "create "+c.Revision.Name)
	}
	for _, d := range plan.Delete {
		out = append(out, "delete "+d.Pod.Name)
	}
	for _, c := range plan.Change {
		out = append(out, fmt.Sprint(kindNames[c.Kind], " ", c.Pod.Name))
	}
	return out
}

var kindNames = map[ChangeKind]string{
	Refresh: "refresh", UpdateInPlace: "update", PrepareUpdate: "prepare-update", MarkForRecreate: "recreate",
	PrepareDelete: "prepare-delete", Revive: "revive",
}

func TestPlan(t *testing.T) {
	hold := &Wait{Reason: "Paused"}
	two := func(b rollout.Budget) *scene { return newScene(b).add("a", 1).add("b", 1) }
	mixed := func(replicas int) *scene {
		s := newScene(rollout.Budget{Replicas: replicas, MaxUnavailable: replicas / 5})
		for _, name := range []string{"o1", "o2", "o3"} {
			s.add(name, 1)
		}
		for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
			s.add(name, 2)
		}
		s.rules.Update.Hold, s.rules.Update.OnDelete = hold, true
		return s
	}
	for name, tc := range map[string]struct {
		s    *scene
		want []string
	}{
		"at rest":                            {newScene(rollout.Budget{Replicas: 1}).add("a", 2), nil},
		"creation at the old revision first": {newScene(rollout.Budget{Replicas: 3, Partition: 1}), []string{"create w-1", "create w-2", "create w-2"}},
		"in place":                           {two(rollout.Budget{Replicas: 2, MaxUnavailable: 1}), []string{"update a"}},
		"recreate: the pod goes at once": {func() *scene {
			s := two(rollout.Budget{Replicas: 2, MaxUnavailable: 1})
			s.rules.Update.Policy = Recreate
			return s
		}(), []string{"delete a"}},
		"recreate: its replacement comes first": {func() *scene {
			s := two(rollout.Budget{Replicas: 2, MaxSurge: 1, MaxUnavailable: 1}).add("c", 2)
			s.rules.Update.Policy, s.rules.Update.ReplaceFirst = Recreate, true
			return s
		}(), []string{"recreate a"}},
		"recreate: a hook holds the pod": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 1, labelled("hold"))
			s.rules.Update.Policy = Recreate
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{PreDelete: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}}}
			return s
		}(), []string{"recreate a"}},
		"terminating pods do not count": {newScene(rollout.Budget{Replicas: 2}).add("a", 2).add("b", 2, terminating), []string{"create w-2"}},

		"paused: gates open all the same (CS-08)": {func() *scene {
			s := two(rollout.Budget{Replicas: 3, MaxUnavailable: 1}).add("c", 2, noGate)
			s.rules.Update.Hold = hold
			return s
		}(), []string{"refresh c"}},
		"on delete: gates open all the same (CS-08)": {func() *scene {
			s := two(rollout.Budget{Replicas: 3, MaxUnavailable: 1}).add("c", 2, noGate)
			s.rules.Update.Hold, s.rules.Update.OnDelete = hold, true
			return s
		}(), []string{"refresh c"}},
		"a gate without a node waits": {newScene(rollout.Budget{Replicas: 1}).add("a", 2, noGate, unscheduled, notReady), nil},

		"rollback deletes the pod that is not ready (CS-16)": {
			newScene(rollout.Budget{Replicas: 1, MaxSurge: 1}).add("a", 1, notReady).add("b", 2), []string{"delete a"}},
		"rollback of all keeps the healthy one (CS-16)": {
			newScene(rollout.Budget{Replicas: 1, MaxSurge: 1}).add("a", 1).add("b", 2, notReady), nil},
		"paused in a surge, the new pods not ready: they go": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 2}).add("a", 1).add("b", 1).add("c", 2, notReady).add("d", 2, notReady)
			s.rules.Update.Hold = hold
			return s
		}(), []string{"delete c", "delete d"}},
		"paused in a surge, a new pod ready: an old one goes for it": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 2}).add("a", 1).add("b", 1).add("c", 2).add("d", 2, notReady)
			s.rules.Update.Hold = hold
			return s
		}(), []string{"delete a", "delete d"}},
		"not paused, the surge taken back: new pods may get ready": {
			newScene(rollout.Budget{Replicas: 2}).add("a", 1).add("b", 1).add("c", 2, notReady), nil},
		"raising maxSurge makes room at once (CS-05)": {
			newScene(rollout.Budget{Replicas: 4, MaxSurge: 4}).add("a", 1).add("b", 1).add("c", 1).add("d", 1).add("e", 2, notReady).add("f", 2, notReady), []string{"create w-2", "create w-2"}},
		"dead pods are replaced and bounded (CS-20)": {
			newScene(rollout.Budget{Replicas: 1}).add("a", 2, failed).add("b", 2, failed).add("c", 2, failed).add("d", 2, failed).add("e", 2, failed),
			[]string{"create w-2", "delete a", "delete b"}},

		"dead pods that somebody wants gone": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1}).add("a", 2).add("b", 2, failed, specified).add("c", 2, failed).add("d", 2, failed)
			s.rules.DropFinished = []string{"a", "d", "nobody"}
			return s
		}(), []string{"delete b", "delete d"}},
		"specified, one may go":             {newScene(rollout.Budget{Replicas: 3, MaxUnavailable: 1, SameRevision: true}).add("a", 2, specified).add("b", 2, specified).add("c", 2), []string{"delete a"}},
		"specified, none may go":            {newScene(rollout.Budget{Replicas: 3, SameRevision: true}).add("a", 2, specified).add("b", 2).add("c", 2), nil},
		"specified and not ready always go": {newScene(rollout.Budget{Replicas: 3, SameRevision: true}).add("a", 2, specified, notReady).add("b", 2, specified).add("c", 2), []string{"delete a"}},
		"not below the floor by a specified one": {
			newScene(rollout.Budget{Replicas: 5, MaxUnavailable: 1, SameRevision: true}).add("a", 2, specified, notReady).add("b", 2, specified).add("c", 2).add("d", 2).add("e", 2), []string{"delete a"}},

		"on delete, all old: nothing": {func() *scene {
			s := two(rollout.Budget{Replicas: 2})
			s.rules.Update.Hold, s.rules.Update.OnDelete = hold, true
			return s
		}(), nil},
		"an annotation edited by hand restarts nothing": {newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 2, func(p *corev1.Pod) {
			p.Annotations = map[string]string{"note": "by hand"}
		}), nil},
		"a label of the revision that a pod lacks is put on": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1}).add("a", 2)
			s.rules.RevisionLabels = func(r *appsv1.ControllerRevision) map[string]string {
				return map[string]string{appsv1beta1.ControllerRevisionHashLabel: r.Name, appsv1beta1.PodTemplateHashLabel: "2"}
			}
			return s
		}(), []string{"refresh a"}},
		"updated again from Updated (CS-14)": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 1, inState("Updated"), notReady)
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}}}
			return s
		}(), []string{"prepare-update a"}},
		"back while it prepares (CS-13)": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 2, inState("PreparingUpdate"), labelled("hold"))
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}}}
			return s
		}(), []string{"refresh a"}},
		"one hook of two back (CS-12)": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 2, inState("Updated"), labelled("hold"))
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1", "too": "1"}}}
			return s
		}(), nil},
		"preNormal complete by a finalizer (CS-11)": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1}).add("a", 2, inState("PreparingNormal"), func(p *corev1.Pod) { p.Finalizers = []string{"x/f"} })
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{PreNormal: &appsv1beta1.LifecycleHook{FinalizersHandler: []string{"x/f"}}}
			return s
		}(), []string{"refresh a"}},
		"without a preNormal hook never stuck (CS-11)": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 1}).add("a", 2, inState("PreparingNormal"))
			s.rules.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: &appsv1beta1.LifecycleHook{FinalizersHandler: []string{"x/f"}}}
			return s
		}(), []string{"refresh a"}},
		"partition raised, gate on (CS-19)": {newScene(rollout.Budget{Replicas: 3, Partition: 2, MaxUnavailable: 1, Rollback: true}).add("a", 1).add("b", 2).add("c", 2), []string{"update b"}},
		"a pod to be deleted anyway fills a place of the update": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 5, Partition: 4, MaxUnavailable: 1}).add("a", 1, specified).add("b", 1, notReady).add("c", 1).add("d", 1).add("e", 1)
			s.rules.Update.Policy = Recreate
			return s
		}(), nil},
		"named for deletion, replicas as before": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 1, SameRevision: true}).add("a", 2).add("b", 2)
			s.replicas.Specified = []string{"a"}
			return s
		}(), []string{"delete a"}},
		"and one is made for it": {newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 1, SameRevision: true}).add("a", 2, terminating).add("b", 2), []string{"create w-2"}},
		// Held back by scaleStrategy.maxUnavailable, the one that is made might wait for just that pod: so it is let go.
		"preparing for an update counts as updated, 90%": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 4, Partition: 3, MaxUnavailable: 1}).add("a", 1, inState("PreparingUpdate")).add("b", 1).add("c", 1)
			s.replicas.PreparingUpdateIsUpdated = true
			return s
		}(), []string{"create w-1", "refresh a"}},
		"preparing for an update counts as updated, 2": {func() *scene {
			s := newScene(rollout.Budget{Replicas: 4, Partition: 2, MaxUnavailable: 1}).add("a", 1, inState("PreparingUpdate")).add("b", 1).add("c", 1)
			s.replicas.PreparingUpdateIsUpdated = true
			return s
		}(), []string{"create w-2"}},
		"preparing for an update counts as old": {newScene(rollout.Budget{Replicas: 4, Partition: 3, MaxUnavailable: 1}).add("a", 1, inState("PreparingUpdate")).add("b", 1).add("c", 1), []string{"create w-2", "refresh a"}},

		"on delete, 6 of 3 old and 5 new": {mixed(6), []string{"delete o1", "delete o2"}},
		"on delete, 4 of 3 old and 5 new": {mixed(4), []string{"delete o1", "delete o2", "delete o3", "delete n1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.s.moves()); diff != "" {
				t.Errorf("(-want +got):\n%s\nwaits %+v", diff, Make(&tc.s.snapshot, &tc.s.rules).Waits)
			}
		})
	}
}

func TestPodsToDeleteByName(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 2, MaxUnavailable: 1, SameRevision: true}).add("a", 2).add("b", 2).add("c", 2)
	s.replicas.Specified = []string{"b", "nobody"}
	if diff := cmp.Diff([]string{"delete b"}, s.moves()); diff != "" {
		t.Error(diff)
	}
}

// minReadySeconds very large: pods ready but not yet available are not scaled in.
func TestScaleInWaitsForAvailability(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 3, MaxUnavailable: 1, SameRevision: true})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.add(name, 2)
	}
	s.rules.MinReady = 9999 * time.Hour
	plan := Make(&s.snapshot, &s.rules)
	if !plan.Empty() {
		t.Errorf("moves %v", s.moves())
	}
	reasons := map[string]bool{}
	for _, w := range plan.Waits {
		reasons[w.Reason] = true
	}
	if !reasons[WaitMaxUnavailable] || !reasons[WaitMinReady] {
		t.Errorf("waits %+v", plan.Waits)
	}
}

// PreparingDelete is called off when the pods are wanted again, but not where a hook marks pods not
// ready, nor for pods that somebody asked to delete.
func TestRevive(t *testing.T) {
	preparing := func(p *corev1.Pod) {
		p.Labels[appsv1beta1.LifecycleStateKey] = string(appsv1beta1.LifecycleStatePreparingDelete)
		p.Labels["hold"] = "1"
	}
	build := func(mark bool) *scene {
		s := newScene(rollout.Budget{Replicas: 3, SameRevision: true}).add("a", 2).add("b", 2, preparing).add("c", 2, preparing, specified)
		s.rules.Lifecycle = &appsv1beta1.Lifecycle{PreDelete: &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"hold": "1"}, MarkPodNotReady: mark}}
		return s
	}
	if diff := cmp.Diff([]string{"revive b"}, build(false).moves()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string(nil), build(true).moves()); diff != "" {
		t.Error(diff)
	}
}

// What cannot be made in place and must not be recreated is told as a failure that names the field.
func TestInPlaceOnly(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 1)
	s.rules.Update.Policy = InPlaceOnly
	s.snapshot.Update = &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "w-2", UID: "r9"}, Data: runtime.RawExtension{
		Raw: []byte(`{"spec":{"template":{"metadata":{},"spec":{"hostname":"h","containers":[{"name":"c","image":"c:1","resources":{}}]}}}}`)}}
	plan := Make(&s.snapshot, &s.rules)
	if !plan.Empty() || len(plan.Waits) != 1 || !plan.Waits[0].Failed || plan.Waits[0].Reason != WaitInPlaceImpossible {
		t.Errorf("moves %v, waits %+v", s.moves(), plan.Waits)
	}
}

// The three writes of an in-place update, and what each carries.
func TestWritesOfAnInPlaceUpdate(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 1, MaxUnavailable: 1}).add("a", 1)
	plan := Make(&s.snapshot, &s.rules)
	w := plan.Change[0].Writes
	if len(w) != 2 || !w[0].Patch.OnStatus() || w[0].Only != SamePod || w[1].Patch.OnStatus() || w[1].Only != SameContent {
		t.Fatalf("writes %+v", w)
	}
	labels := w[1].Patch.Labels
	if w[1].Patch.Images["c"] != "c:2" || *labels[appsv1beta1.ControllerRevisionHashLabel] != "w-2" || *labels[appsv1beta1.LifecycleStateKey] != "Updating" {
		t.Errorf("second write %+v", w[1].Patch)
	}
	pod := s.snapshot.Pods[0].DeepCopy()
	for i := range w {
		w[i].Patch.ApplyTo(pod)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Image: "c:2", ImageID: "new"}}
	s.snapshot.Pods = []*corev1.Pod{pod}
	last := Make(&s.snapshot, &s.rules).Change
	if len(last) != 1 || len(last[0].Writes) != 1 || last[0].Writes[0].Only != SameVersion || *last[0].Writes[0].Patch.Labels[appsv1beta1.LifecycleStateKey] != "Normal" {
		t.Errorf("third write %+v", last)
	}
}

// An update that nobody wants any more lets its pod go, unless the set is only paused.
func TestUnwantedPreparingUpdate(t *testing.T) {
	preparing := func(p *corev1.Pod) {
		p.Labels[appsv1beta1.LifecycleStateKey] = string(appsv1beta1.LifecycleStatePreparingUpdate)
	}
	s := newScene(rollout.Budget{Replicas: 1, Partition: 1}).add("a", 1, preparing)
	if diff := cmp.Diff([]string{"refresh a"}, s.moves()); diff != "" {
		t.Error(diff)
	}
	s.rules.Update.Hold = &Wait{Reason: "Paused"}
	if diff := cmp.Diff([]string(nil), s.moves()); diff != "" {
		t.Error(diff)
	}
}

// However many pods somebody wants, one pass asks for a bounded number.
func TestCreationsAreBounded(t *testing.T) {
	s := newScene(rollout.Budget{Replicas: 2_000_000_000, MaxUnavailable: 1, SameRevision: true}).add("a", 2)
	if got := len(Make(&s.snapshot, &s.rules).Create); got != mostCreations {
		t.Errorf("%d creations", got)
	}
}
