// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	none State = ""
	pn         = appsv1beta1.LifecycleStatePreparingNormal
	no         = appsv1beta1.LifecycleStateNormal
	pu         = appsv1beta1.LifecycleStatePreparingUpdate
	ug         = appsv1beta1.LifecycleStateUpdating
	ud         = appsv1beta1.LifecycleStateUpdated
	pd         = appsv1beta1.LifecycleStatePreparingDelete
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// hook has two labels and a finalizer; a pod may carry none, some or all of them.
func hook() *appsv1beta1.LifecycleHook {
	return &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{"a": "1", "b": "1"}, FinalizersHandler: []string{"x/f"}}
}

func only(set func(*appsv1beta1.Lifecycle)) *appsv1beta1.Lifecycle {
	l := &appsv1beta1.Lifecycle{}
	set(l)
	return l
}

func pod(state State, carries string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}, Spec: corev1.PodSpec{NodeName: "n"}}
	if state != "" {
		p.Labels[appsv1beta1.LifecycleStateKey] = string(state)
	}
	switch carries {
	case "all":
		p.Labels["a"], p.Labels["b"], p.Finalizers = "1", "1", []string{"x/f"}
	case "some":
		p.Labels["a"] = "1"
	case "other value":
		p.Labels["a"] = "2"
	case "none", "":
	default:
		panic(carries)
	}
	return p
}

// Every edge of the table in the package comment.
func TestEveryEdge(t *testing.T) {
	update := only(func(l *appsv1beta1.Lifecycle) { l.InPlaceUpdate = hook() })
	normal := only(func(l *appsv1beta1.Lifecycle) { l.PreNormal = hook() })
	del := only(func(l *appsv1beta1.Lifecycle) { l.PreDelete = hook() })
	empty := only(func(l *appsv1beta1.Lifecycle) { l.InPlaceUpdate = &appsv1beta1.LifecycleHook{} })
	unscheduled := func(o *Observed) { o.Pod.Spec.NodeName = "" }
	atOnce := func(o *Observed) { o.Pod.Spec.NodeName, o.NormalAtOnce = "", true }
	unwanted := func(o *Observed) { o.Unwanted = true }
	atTarget := func(o *Observed) { o.AtTarget = true }
	done := func(o *Observed) { o.UpdateDone = true }
	type edge struct {
		from    State
		wish    Wish
		hooks   *appsv1beta1.Lifecycle
		carries string
		change  func(*Observed)
		to      State
		action  Action
	}
	for name, e := range map[string]edge{
		"no state stays":                          {none, Keep, nil, "", nil, none, Nothing},
		"Normal stays":                            {no, Keep, update, "some", nil, no, Nothing},
		"PreparingNormal scheduled":               {pn, Keep, nil, "", nil, no, Nothing},
		"PreparingNormal unscheduled":             {pn, Keep, nil, "", unscheduled, pn, Nothing},
		"PreparingNormal unscheduled but at once": {pn, Keep, nil, "", atOnce, no, Nothing},
		"PreparingNormal, other hooks only":       {pn, Keep, update, "", nil, no, Nothing},
		"PreparingNormal hook incomplete":         {pn, Keep, normal, "some", nil, pn, Wait},
		"PreparingNormal hook complete":           {pn, Keep, normal, "all", nil, no, Nothing},
		"PreparingNormal hook complete early":     {pn, Keep, normal, "all", unscheduled, no, Nothing},

		"update free":                      {no, Update, update, "none", nil, ug, Start},
		"update without lifecycle":         {none, Update, nil, "", nil, ug, Start},
		"update from PreparingNormal":      {pn, Update, nil, "", nil, ug, Start},
		"update held":                      {no, Update, update, "all", nil, pu, Nothing},
		"update held by one":               {none, Update, update, "some", nil, pu, Nothing},
		"update not held by another value": {no, Update, update, "other value", nil, ug, Start},
		"an empty hook never holds":        {no, Update, empty, "", nil, ug, Start},
		"PreparingUpdate still held":       {pu, Update, update, "some", nil, pu, Wait},
		"PreparingUpdate let go":           {pu, Update, update, "none", nil, ug, Start},
		"Updating again":                   {ug, Update, update, "none", nil, ug, Start},
		"Updated again (CS-14)":            {ud, Update, update, "none", nil, pu, Nothing},
		"Updated again without hook":       {ud, Update, nil, "", nil, ud, Wait},
		"update of PreparingDelete":        {pd, Update, nil, "", nil, pd, Refuse},
		"update of an unknown state":       {"Odd", Update, nil, "", nil, "Odd", Refuse},

		"PreparingUpdate not at target":                      {pu, Keep, update, "all", nil, pu, Nothing},
		"PreparingUpdate rolled back, hook complete (CS-13)": {pu, Keep, update, "all", atTarget, no, Nothing},
		"PreparingUpdate rolled back, hook gone":             {pu, Keep, update, "none", atTarget, ud, Nothing},
		"PreparingUpdate rolled back, no lifecycle":          {pu, Keep, nil, "", atTarget, no, Nothing},
		"PreparingUpdate not wanted any more":                {pu, Keep, update, "none", unwanted, ud, Nothing},
		"PreparingUpdate not wanted, hook complete":          {pu, Keep, update, "all", unwanted, no, Nothing},
		"Updating not done":                                  {ug, Keep, update, "all", nil, ug, Nothing},
		"Updating done, no lifecycle":                        {ug, Keep, nil, "", done, no, Nothing},
		"Updating done, hook complete":                       {ug, Keep, update, "all", done, no, Nothing},
		"Updating done, hook gone":                           {ug, Keep, update, "none", done, ud, Nothing},
		"Updating done, one of the hook back (CS-12)":        {ug, Keep, update, "some", done, ud, Nothing},
		"Updating done, lifecycle without this hook":         {ug, Keep, del, "", done, ud, Nothing},
		"Updating done, empty hook":                          {ug, Keep, empty, "", done, no, Nothing},
		"Updated, hook back":                                 {ud, Keep, update, "all", nil, no, Nothing},
		"Updated, one of the hook back (CS-12)":              {ud, Keep, update, "some", nil, ud, Wait},
		"Updated, no lifecycle":                              {ud, Keep, nil, "", nil, no, Nothing},
		"Updated, lifecycle without this hook":               {ud, Keep, del, "", nil, no, Nothing},
		"PreparingDelete is kept":                            {pd, Keep, del, "all", nil, pd, Nothing},
		"unknown state is left alone":                        {"Odd", Keep, nil, "", nil, "Odd", Wait},

		"delete free":                {no, Delete, nil, "", nil, no, Remove},
		"delete held":                {no, Delete, del, "some", nil, pd, Nothing},
		"delete held while updating": {ug, Delete, del, "all", nil, pd, Nothing},
		"PreparingDelete still held": {pd, Delete, del, "all", nil, pd, Wait},
		"PreparingDelete let go":     {pd, Delete, del, "none", nil, pd, Remove},
		"revive":                     {pd, Revive, del, "all", nil, pn, Nothing},
		"revive what needs none":     {no, Revive, del, "all", nil, no, Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observed{Pod: pod(e.from, e.carries), Hooks: e.hooks}
			if e.change != nil {
				e.change(&o)
			}
			got := Next(e.wish, o)
			if got.To != e.to || got.Action != e.action {
				t.Errorf("to %q action %d, want %q %d (%s)", got.To, got.Action, e.to, e.action, got.Reason)
			}
			if (got.To != e.from || got.Action == Wait || got.Action == Refuse) && got.Action != Start && got.Reason == "" {
				t.Error("no reason is given")
			}
			patch := Patch(o, got, now)
			if patch.Empty() != (got.To == e.from) {
				t.Errorf("patch %+v for %q to %q", patch, e.from, got.To)
			}
			if got.To != e.from && *patch.Annotations[appsv1beta1.LifecycleTimestampKey] != "2026-01-02T03:04:05Z" {
				t.Errorf("timestamp %v", patch.Annotations)
			}
		})
	}
}

// From any state a pod can be wanted gone, and one that is not waiting for its deletion has nothing to come back from.
func TestFromAnyState(t *testing.T) {
	del := only(func(l *appsv1beta1.Lifecycle) { l.PreDelete = hook() })
	for _, from := range []State{none, pn, no, pu, ug, ud, pd, "Odd"} {
		if got := Next(Delete, Observed{Pod: pod(from, "none"), Hooks: del}); got.To != from || got.Action != Remove {
			t.Errorf("%q, delete, not held: %+v", from, got)
		}
		held := Next(Delete, Observed{Pod: pod(from, "some"), Hooks: del})
		if waits := held.Action == Wait; held.To != pd || waits != (from == pd) || held.Reason != "preDelete hook held by label a=1" {
			t.Errorf("%q, delete, held: %+v", from, held)
		}
		back := Next(Revive, Observed{Pod: pod(from, "all"), Hooks: del})
		if want := map[bool]State{true: pn, false: from}[from == pd]; back.To != want || back.Action != Nothing {
			t.Errorf("%q, revive: %+v", from, back)
		}
	}
}

// There are no other edges than those of the table, whatever the hooks, the pod and the workload say.
func TestNoOtherEdges(t *testing.T) {
	type edge struct {
		from State
		wish Wish
		to   State
	}
	allowed := map[edge]bool{}
	for _, e := range []edge{
		{pn, Keep, no}, {pu, Keep, no}, {pu, Keep, ud}, {ug, Keep, no}, {ug, Keep, ud}, {ud, Keep, no},
		{none, Update, pu}, {pn, Update, pu}, {no, Update, pu}, {none, Update, ug}, {pn, Update, ug}, {no, Update, ug},
		{pu, Update, ug}, {ud, Update, pu}, {pd, Revive, pn},
	} {
		allowed[e] = false
	}
	states := []State{none, pn, no, pu, ug, ud, pd, "Odd"}
	for _, from := range states {
		if from != pd {
			allowed[edge{from, Delete, pd}] = false
		}
		for _, wish := range []Wish{Keep, Update, Delete, Revive} {
			everything(func(o Observed, hooks *appsv1beta1.Lifecycle, carries string) {
				o.Pod, o.Hooks = pod(from, carries), hooks
				if !o.NormalAtOnce {
					o.Pod.Spec.NodeName = ""
				}
				step := Next(wish, o)
				e := edge{from, wish, step.To}
				if _, ok := allowed[e]; step.To != from && !ok {
					t.Fatalf("%q, wish %d, to %q: %+v", from, wish, step.To, o)
				}
				allowed[e] = true
				if again := Next(wish, o); again != step {
					t.Fatalf("not the same again: %+v, %+v", step, again)
				}
			})
		}
	}
	for e, seen := range allowed {
		if !seen {
			t.Errorf("%q, wish %d, to %q is in the table and never happens", e.from, e.wish, e.to)
		}
	}
}

// everything calls do with all combinations of what the machine looks at.
func everything(do func(o Observed, hooks *appsv1beta1.Lifecycle, carries string)) {
	hooks := []*appsv1beta1.LifecycleHook{nil, {}, hook()}
	for bits := range 16 {
		o := Observed{AtTarget: bits&1 > 0, Unwanted: bits&2 > 0, UpdateDone: bits&4 > 0, NormalAtOnce: bits&8 > 0}
		for _, carries := range []string{"none", "some", "all", "other value"} {
			do(o, nil, carries)
			for i := range 27 {
				do(o, &appsv1beta1.Lifecycle{PreNormal: hooks[i%3], InPlaceUpdate: hooks[i/3%3], PreDelete: hooks[i/9]}, carries)
			}
		}
	}
}

func TestRestoredHook(t *testing.T) {
	o := Observed{Pod: pod(ud, "none"), Hooks: only(func(l *appsv1beta1.Lifecycle) { l.InPlaceUpdate = hook() })}
	patch := Patch(o, Next(Update, o), now)
	patch.ApplyTo(o.Pod)
	if complete, missing := Complete(hook(), o.Pod); !complete || pods.LifecycleState(o.Pod) != pu {
		t.Errorf("missing %s, state %s", missing, pods.LifecycleState(o.Pod))
	}
}

// The readiness key is taken and given back on every path, also those that skip Updated.
func TestReadinessKeys(t *testing.T) {
	marked := hook()
	marked.MarkPodNotReady = true
	both := &appsv1beta1.Lifecycle{PreDelete: marked, InPlaceUpdate: marked}
	foreign := `{"userAgent":"Other","key":"k"}`
	mine := func(key string) string { return `{"userAgent":"Lifecycle","key":"` + key + `"}` }
	for name, tc := range map[string]struct {
		from    State
		message string
		to      State
		hooks   *appsv1beta1.Lifecycle
		want    string
	}{
		"PreparingDelete takes":                {no, "[]", pd, both, "[" + mine("preDeleteHook") + "]"},
		"PreparingUpdate takes, beside others": {no, "[" + foreign + "]", pu, both, "[" + mine("preUpdateHook") + "," + foreign + "]"},
		"taken once":                           {pu, "[" + mine("preUpdateHook") + "]", pu, both, ""},
		"not marked, not taken":                {no, "[]", pu, &appsv1beta1.Lifecycle{InPlaceUpdate: hook()}, ""},
		"Updated gives back":                   {ug, "[" + mine("preUpdateHook") + "," + foreign + "]", ud, both, "[" + foreign + "]"},
		"Normal gives back":                    {pu, "[" + mine("preUpdateHook") + "]", no, both, "[]"},
		"Normal gives back what was left":      {no, "[" + mine("preUpdateHook") + "]", no, both, "[]"},
		"PreparingNormal gives back":           {pd, "[" + mine("preDeleteHook") + "]", pn, both, "[]"},
		"Updating keeps":                       {pu, "[" + mine("preUpdateHook") + "]", ug, both, ""},
		"unreadable counts as empty":           {no, "gibberish", pd, both, "[" + mine("preDeleteHook") + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(tc.from, "")
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1beta1.KruisePodReadyConditionType}}
			p.Status.Conditions = []corev1.PodCondition{{Type: appsv1beta1.KruisePodReadyConditionType, Message: tc.message}}
			patch := Patch(Observed{Pod: p, Hooks: tc.hooks}, Step{To: tc.to}, now)
			got := ""
			if len(patch.Conditions) > 0 {
				got = patch.Conditions[0].Message
				if wantTrue := got == "[]"; (patch.Conditions[0].Status == corev1.ConditionTrue) != wantTrue {
					t.Errorf("status %s with %s", patch.Conditions[0].Status, got)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			p.Spec.ReadinessGates = nil
			if patch := Patch(Observed{Pod: p, Hooks: tc.hooks}, Step{To: tc.to}, now); len(patch.Conditions) != 0 {
				t.Error("a pod without the gate must be left alone")
			}
		})
	}
}

// The switch of a new pod is set with its first change after it was scheduled.
func TestNewPodIsSwitchedOn(t *testing.T) {
	p := pod(pn, "")
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1beta1.KruisePodReadyConditionType}}
	o := Observed{Pod: p}
	if patch := Patch(o, Next(Keep, o), now); len(patch.Conditions) != 1 || patch.Conditions[0].Status != corev1.ConditionTrue || patch.Conditions[0].Message != "[]" {
		t.Errorf("patch %+v", patch)
	}
	p.Spec.NodeName = ""
	if patch := Patch(o, Next(Keep, o), now); !patch.Empty() {
		t.Errorf("unscheduled: patch %+v", patch)
	}
}

func TestNothingToWrite(t *testing.T) {
	o := Observed{Pod: pod(no, "")}
	if patch := Patch(o, Next(Keep, o), now); !cmp.Equal(patch, podpatch.Patch{}) {
		t.Errorf("patch %+v", patch)
	}
}
