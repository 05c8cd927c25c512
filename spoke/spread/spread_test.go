// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// subsets are named a, b, c, … with these maxima; "" is none.
func subsets(most ...string) []appsv1beta1.WorkloadSpreadSubset {
	out := make([]appsv1beta1.WorkloadSpreadSubset, len(most))
	for i, m := range most {
		out[i].Name = string(rune('a' + i))
		if m != "" {
			v := intstr.Parse(m)
			out[i].MaxReplicas = &v
		}
	}
	return out
}

func member(name, subset string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon),
		Annotations: map[string]string{appsv1beta1.MatchedWorkloadSpreadKey: Match{Name: "ws", Subset: subset}.Annotation()}}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func grouped(of []appsv1beta1.WorkloadSpreadSubset, all ...*corev1.Pod) map[string][]*corev1.Pod {
	groups, _ := Group("ws", of, all)
	return groups
}

// members returns so many pods of each subset in turn.
func members(of []appsv1beta1.WorkloadSpreadSubset, count ...int) map[string][]*corev1.Pod {
	var all []*corev1.Pod
	for i, n := range count {
		for k := range n {
			all = append(all, member(fmt.Sprintf("%s%d", of[i].Name, k), of[i].Name))
		}
	}
	return grouped(of, all...)
}

func failed(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }

func unschedulable(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
}

func TestQuota(t *testing.T) {
	for most, want := range map[string]int32{"3": 3, "0": 0, "20%": 1, "34%": 2, "100%": 5, "0%": 0} {
		v := intstr.Parse(most)
		if got, err := Quota(&v, 5); got != want || err != nil {
			t.Errorf("%s: %d %v", most, got, err)
		}
	}
	// No maximum is no bound, and no panic (WS-03).
	if got, err := Quota(nil, 5); got != Unlimited || err != nil {
		t.Errorf("none: %d %v", got, err)
	}
	for _, most := range []string{"0.2%", "-1%", "-1", "x", "5x", ""} {
		v := intstr.Parse(most)
		if got, err := Quota(&v, 5); err == nil {
			t.Errorf("%s: %d", most, got)
		}
	}
}

func TestMatchOf(t *testing.T) {
	for text, want := range map[string]Match{
		`{"name":"ws","subset":"a"}`:           {Name: "ws", Subset: "a"},
		`{"Name":"ws","Subset":"a","UID":"u"}`: {Name: "ws", Subset: "a", UID: "u"},
		`{"name":"ws"}`:                        {Name: "ws"},
		`{`:                                    {},
		``:                                     {},
	} {
		got, ok := MatchOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appsv1beta1.MatchedWorkloadSpreadKey: text}}})
		if got != want || ok != (want.Subset != "") {
			t.Errorf("%s: %+v %v", text, got, ok)
		}
	}
	if got := (Match{Name: "ws", Subset: "a"}).Annotation(); got != `{"name":"ws","subset":"a"}` {
		t.Error(got)
	}
}

func TestVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		labels    map[string]string
		versioned bool
		want      string
	}{
		"not told apart":     {map[string]string{"pod-template-hash": "x"}, false, Unversioned},
		"of a ReplicaSet":    {map[string]string{"pod-template-hash": "x", "controller-revision-hash": "w-y"}, true, "x"},
		"of a revision":      {map[string]string{"controller-revision-hash": "w-y"}, true, "y"},
		"of neither":         {nil, true, Unversioned},
		"revision not told ": {map[string]string{"controller-revision-hash": "w-y"}, false, Unversioned},
	} {
		if got := Version(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}, tc.versioned); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAdmit(t *testing.T) {
	avoided := metav1.Condition{Type: appsv1beta1.WorkloadSpreadSubsetSchedulable, Status: metav1.ConditionFalse}
	for name, tc := range map[string]struct {
		books   Books
		named   bool
		want    Decision
		missing int32
	}{
		"first":         {Books{{Name: "a", MissingReplicas: 2}, {Name: "b", MissingReplicas: 1}}, true, Decision{"a", true, "the subset takes more pods"}, 1},
		"first is full": {Books{{Name: "a"}, {Name: "b", MissingReplicas: 1}}, true, Decision{"b", true, "the subset takes more pods"}, 0},
		"no bound":      {Books{{Name: "a"}, {Name: "b", MissingReplicas: -1}}, true, Decision{"b", false, "the subset takes any number of pods"}, 0},
		"avoided": {Books{{Name: "a", MissingReplicas: 1, Conditions: []metav1.Condition{avoided}}, {Name: "b", MissingReplicas: -1}}, true,
			Decision{"b", false, "the subset takes any number of pods"}, 1},
		"all full": {Books{{Name: "a"}}, true, Decision{"", false, "no subset takes more pods"}, 0},
		"asked before": {Books{{Name: "a", MissingReplicas: 1}, {Name: "b", CreatingPods: map[string]metav1.Time{"p": {}}}}, true,
			Decision{"b", false, "the pod is in the books already"}, 1},
		"made anew": {Books{{Name: "a", MissingReplicas: 1}, {Name: "b", DeletingPods: map[string]metav1.Time{"p": {}}}}, true,
			Decision{"a", true, "the subset takes more pods"}, 0},
		"made anew, its place is free": {Books{{Name: "a", MissingReplicas: 1}, {Name: "b", MissingReplicas: 1, DeletingPods: map[string]metav1.Time{"p": {}}}}, true,
			Decision{"b", true, "the pod is made anew"}, 1},
		"made anew where any go": {Books{{Name: "a", MissingReplicas: -1, DeletingPods: map[string]metav1.Time{"p": {}}}}, true,
			Decision{"a", true, "the subset takes any number of pods"}, -1},
		"made anew, all full": {Books{{Name: "a", DeletingPods: map[string]metav1.Time{"p": {}}}}, true,
			Decision{"", true, "no subset takes more pods"}, 0},
		"nameless": {Books{{Name: "a", MissingReplicas: 1}, {Name: "b", DeletingPods: map[string]metav1.Time{"p": {}}}}, false,
			Decision{"a", true, "the subset takes more pods"}, 0},
	} {
		got := tc.books.Admit("p", tc.named, noon)
		if got != tc.want || tc.books[0].MissingReplicas != tc.missing {
			t.Errorf("%s: %+v, missing %d", name, got, tc.books[0].MissingReplicas)
		}
		if entry := tc.books.find(got.Subset); got.Booked && entry != nil && entry.MissingReplicas != Unlimited && !entry.CreatingPods["p"].Time.Equal(noon) {
			t.Errorf("%s: not in the books", name)
		}
	}
}

func TestRelease(t *testing.T) {
	pod := member("p", "a")
	pod.Annotations[appsv1beta1.MatchedWorkloadSpreadKey] = Match{"ws", "a", "u"}.Annotation()
	for name, tc := range map[string]struct {
		books   Books
		booked  bool
		missing int32
	}{
		"":               {Books{{Name: "a"}}, true, 1},
		"of enough":      {Books{{Name: "a", Replicas: 2}}, true, 1},
		"of too many":    {Books{{Name: "a", Replicas: 3}}, true, 0},
		"no bound":       {Books{{Name: "a", MissingReplicas: -1}}, false, -1},
		"twice":          {Books{{Name: "a", DeletingPods: map[string]metav1.Time{"p": {}}}}, false, 0},
		"not seen yet":   {Books{{Name: "a", CreatingPods: map[string]metav1.Time{"u": {}}}}, true, 1},
		"subset is gone": {Books{{Name: "b"}}, false, 0},
	} {
		if got := tc.books.Release(pod, "a", 2, noon); got.Booked != tc.booked || tc.books[0].MissingReplicas != tc.missing || got.Reason == "" {
			t.Errorf("%s: %+v, missing %d", name, got, tc.books[0].MissingReplicas)
		}
		if len(tc.books[0].CreatingPods) > 0 {
			t.Errorf("%s: still waited for", name) // its place would be taken for 30 seconds (WS-02)
		}
	}
}

// Five pods of a StatefulSet, subsets of 2, 2 and any.
func TestAdmitOrdinal(t *testing.T) {
	of := subsets("2", "2", "")
	for pod, want := range map[string]string{"w-0": "a", "w-1": "a", "w-2": "b", "w-3": "b", "w-4": "c", "w-4000000000": "a", "w": "a"} {
		if got := AdmitOrdinal(of, nil, pod); got.Subset != want {
			t.Errorf("%s: %+v", pod, got)
		}
	}
	avoided := Books{{Name: "a", Conditions: []metav1.Condition{{Type: appsv1beta1.WorkloadSpreadSubsetSchedulable, Status: metav1.ConditionFalse}}}}
	if got := AdmitOrdinal(of, avoided, "w-0"); got.Subset != "b" {
		t.Errorf("a is avoided: %+v", got)
	}
	if got := AdmitOrdinal(subsets("1", "50%"), nil, "w-1"); got.Subset != "" {
		t.Errorf("beyond all: %+v", got)
	}
}

// Replicas and missing ones of each subset, as status tells them.
func TestSettle(t *testing.T) {
	since := func(ago time.Duration) map[string]metav1.Time {
		return map[string]metav1.Time{"x": metav1.NewTime(noon.Add(-ago))}
	}
	going := func(ago time.Duration) map[string]metav1.Time {
		return map[string]metav1.Time{"a0": metav1.NewTime(noon.Add(-ago))}
	}
	for name, tc := range map[string]struct {
		most     []string
		replicas int32
		count    []int
		more     []*corev1.Pod
		old      Books
		want     string // replicas/missing of each subset
		notices  []Notice
		recheck  time.Duration
	}{
		"3 and 3":              {most: []string{"3", "3"}, replicas: 6, count: []int{3, 3}, want: "3/0 3/0"},
		"2 and any":            {most: []string{"2", ""}, replicas: 6, count: []int{2, 4}, want: "2/0 4/-1"},
		"no replicas known":    {most: []string{"2", "5"}, count: []int{2, 1}, want: "2/0 1/4"},
		"path of 5":            {most: []string{"20%", "80%"}, replicas: 5, count: []int{1, 3}, want: "1/0 3/1"},
		"path of 4":            {most: []string{"25%", "75%"}, replicas: 4, count: []int{1, 1}, want: "1/0 1/2"},
		"two versions in all":  {most: []string{"3"}, replicas: 6, count: []int{6}, want: "6/0"},
		"dead ones (WS-05)":    {most: []string{"2"}, count: []int{1}, more: []*corev1.Pod{member("d", "a", failed)}, want: "1/1"},
		"let in":               {most: []string{"2"}, old: Books{{Name: "a", CreatingPods: since(2 * time.Second)}}, want: "0/1", recheck: 28*time.Second + 1},
		"let in, clock behind": {most: []string{"2"}, old: Books{{Name: "a", CreatingPods: since(-2 * time.Second)}}, want: "0/1", recheck: 32*time.Second + 1},
		"let in, at last":      {most: []string{"2"}, old: Books{{Name: "a", CreatingPods: since(30 * time.Second)}}, want: "0/1", recheck: 1},
		"let in long ago": {most: []string{"2"}, old: Books{{Name: "a", CreatingPods: since(time.Minute)}}, want: "0/2",
			notices: []Notice{{"CreatePodFailed", "a", "x"}}},
		"let in and seen": {most: []string{"2"}, more: []*corev1.Pod{member("x", "a")}, old: Books{{Name: "a", CreatingPods: since(time.Second)}}, want: "1/1"},
		"let in, and failed already": {most: []string{"2"}, more: []*corev1.Pod{member("x", "a", failed)},
			old: Books{{Name: "a", CreatingPods: since(time.Second)}}, want: "0/2"},
		"let go":          {most: []string{"2"}, count: []int{2}, old: Books{{Name: "a", DeletingPods: going(time.Second)}}, want: "2/1", recheck: 14*time.Second + 1},
		"let go and gone": {most: []string{"2"}, old: Books{{Name: "a", DeletingPods: going(time.Second)}}, want: "0/2"},
		"let go long ago": {most: []string{"2"}, count: []int{2}, old: Books{{Name: "a", DeletingPods: going(16 * time.Second)}}, want: "2/0",
			notices: []Notice{{"DeletePodFailed", "a", "a0"}}},
		"let go of too many": {most: []string{"1"}, count: []int{3}, old: Books{{Name: "a", DeletingPods: going(0)}}, want: "3/0", recheck: 15*time.Second + 1},
		"order is another":   {most: []string{"2", "2"}, old: Books{{Name: "b", CreatingPods: since(0)}, {Name: "a"}}, want: "0/2 0/1", recheck: 30*time.Second + 1},
	} {
		of := subsets(tc.most...)
		groups := members(of, tc.count...)
		groups["a"] = append(groups["a"], tc.more...)
		got, err := Settle(View{Subsets: of, Replicas: tc.replicas, Groups: groups, Old: tc.old, Now: noon})
		if err != nil {
			t.Fatal(name, err)
		}
		text := ""
		for i, entry := range got.Books {
			if i > 0 {
				text += " "
			}
			text += fmt.Sprintf("%d/%d", entry.Replicas, entry.MissingReplicas)
		}
		if text != tc.want || got.Recheck != tc.recheck || cmp.Diff(tc.notices, got.Notices) != "" {
			t.Errorf("%s: %s, notices %v, again in %v", name, text, got.Notices, got.Recheck)
		}
		again, _ := Settle(View{Subsets: of, Replicas: tc.replicas, Groups: groups, Old: got.Books, Now: noon})
		if diff := cmp.Diff(got.Books, again.Books); diff != "" {
			t.Errorf("%s: changes at rest: %s", name, diff)
		}
	}
	if _, err := Settle(View{Subsets: subsets("0.2%")}); err == nil {
		t.Error("a quota that cannot be told")
	}
}

// A subset whose pods find no node is avoided for five minutes, the last one never; one without an entry does not
// panic (WS-04).
func TestReschedule(t *testing.T) {
	of := subsets("2", "")
	stuck := []*corev1.Pod{member("a0", "a", unschedulable), member("b0", "b", unschedulable)}
	view := View{Subsets: of, Replicas: 5, Groups: grouped(of, stuck...), Critical: 5 * time.Second, Now: noon.Add(4 * time.Second)}
	step := func(name string, after time.Duration, status metav1.ConditionStatus, late int, recheck time.Duration) {
		t.Helper()
		view.Now = noon.Add(after)
		got, err := Settle(view)
		if err != nil {
			t.Fatal(err)
		}
		c := meta.FindStatusCondition(got.Books[0].Conditions, appsv1beta1.WorkloadSpreadSubsetSchedulable)
		if c == nil || c.Status != status || len(got.Late) != late || got.Recheck != recheck {
			t.Errorf("%s: %+v, %d late, again in %v", name, c, len(got.Late), got.Recheck)
		}
		if !meta.IsStatusConditionTrue(got.Books[1].Conditions, appsv1beta1.WorkloadSpreadSubsetSchedulable) {
			t.Errorf("%s: the last one is avoided", name)
		}
		view.Old = got.Books
	}
	step("in time", 4*time.Second, metav1.ConditionTrue, 0, time.Second+1)
	step("late", 6*time.Second, metav1.ConditionFalse, 1, 0)
	view.Groups = nil
	step("avoided", 7*time.Second, metav1.ConditionFalse, 0, 299*time.Second+1)
	step("tried again", 306*time.Second, metav1.ConditionTrue, 0, 0)
	view.Critical = 0
	if got, _ := Settle(view); len(got.Books[0].Conditions) != 0 {
		t.Error("a fixed one keeps the condition")
	}
}

func TestCosts(t *testing.T) {
	for name, tc := range map[string]struct {
		most   []string
		count  []int
		latest bool
		more   []*corev1.Pod
		want   map[string]string
	}{
		"within":            {[]string{"1", "1"}, []int{1, 1}, true, nil, map[string]string{"a0": "200", "b0": "100"}},
		"older version":     {[]string{"1", "1"}, []int{1, 1}, false, nil, map[string]string{"a0": "100", "b0": "200"}},
		"more than allowed": {[]string{"2"}, []int{4}, true, nil, map[string]string{"a0": "-100", "a1": "-100", "a2": "100", "a3": "100"}},
		"second has more":   {[]string{"1", "0"}, []int{1, 1}, true, nil, map[string]string{"a0": "200", "b0": "-200"}},
		"no bound":          {[]string{""}, []int{2}, true, nil, map[string]string{"a0": "100", "a1": "100"}},
		"of no subset":      {[]string{"2"}, nil, true, []*corev1.Pod{member("x", "gone")}, map[string]string{"x": "-200"}},
		"dead":              {[]string{"1"}, []int{1}, true, []*corev1.Pod{member("d", "a", failed)}, map[string]string{"a0": "100"}},
		"less alive first": {[]string{"1"}, []int{1}, true, []*corev1.Pod{member("r", "a", func(p *corev1.Pod) { p.Spec.NodeName = "n" })},
			map[string]string{"a0": "-100", "r": "100"}},
	} {
		of := subsets(tc.most...)
		groups := members(of, tc.count...)
		for _, pod := range tc.more {
			more := grouped(of, pod)
			for k := range more {
				groups[k] = append(groups[k], more[k]...)
			}
		}
		got, err := Costs(of, 4, groups, tc.latest)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestGroupKnowsStrangers(t *testing.T) {
	other := member("o", "a")
	other.Annotations[appsv1beta1.MatchedWorkloadSpreadKey] = Match{Name: "another", Subset: "a"}.Annotation()
	groups, strangers := Group("ws", subsets("1"), []*corev1.Pod{member("p", "a"), other, {}, member("g", "gone")})
	if len(groups["a"]) != 1 || len(strangers) != 2 || len(groups[Outside]) != 1 {
		t.Error(groups, strangers)
	}
}

func TestInject(t *testing.T) {
	zone := func(v string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{v}}
	}
	subset := &appsv1beta1.WorkloadSpreadSubset{Name: "a",
		RequiredNodeSelector: &corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone("a")}},
		Tolerations:          []corev1.Toleration{{Key: "t"}},
		Patch:                runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"l":"v"}},"spec":{"priorityClassName":"high"}}`)},
	}
	for terms := range 3 {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32), Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}}}
		selector := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		for i := range terms {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone(strconv.Itoa(i))}})
		}
		if err := Inject(pod, subset, Match{Name: "ws", Subset: "a"}); err != nil {
			t.Fatal(err)
		}
		got := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if len(got) != max(1, terms) {
			t.Errorf("%d terms: %v", terms, got)
		}
		for _, term := range got {
			if last := term.MatchExpressions[len(term.MatchExpressions)-1]; cmp.Diff(last, zone("a")) != "" {
				t.Errorf("%d terms: %v", terms, got)
			}
		}
		// The API server computes the number of the new class (WS-07).
		if pod.Spec.Priority != nil || pod.Spec.PriorityClassName != "high" || pod.Labels["l"] != "v" || len(pod.Spec.Tolerations) != 1 {
			t.Errorf("%+v", pod)
		}
		if m, ok := MatchOf(pod); !ok || m.Subset != "a" {
			t.Error(pod.Annotations)
		}
	}
	kept := &corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32)}}
	if err := Inject(kept, &appsv1beta1.WorkloadSpreadSubset{}, Match{}); err != nil || kept.Spec.Priority == nil {
		t.Error("the priority of another class is kept", err)
	}
	untouched := &corev1.Pod{}
	if err := Inject(untouched, &appsv1beta1.WorkloadSpreadSubset{Patch: runtime.RawExtension{Raw: []byte(`{"spec":1}`)}}, Match{}); err == nil || untouched.Annotations != nil {
		t.Error("a patch that cannot be applied", err, untouched.Annotations)
	}
}

// Books are found by name, and follow a spec that the controller has not seen yet.
func TestAlign(t *testing.T) {
	for name, tc := range map[string]struct {
		most []string
		old  Books
		want []int32
	}{
		"new":                {[]string{"2", "", "50%"}, nil, []int32{2, -1, 5}},
		"in another order":   {[]string{"2", "3"}, Books{{Name: "b", MissingReplicas: 1}, {Name: "a"}}, []int32{0, 1}},
		"one more (WS-04)":   {[]string{"2", "3"}, Books{{Name: "a"}}, []int32{0, 3}},
		"lowered":            {[]string{"2"}, Books{{Name: "a", Replicas: 1, MissingReplicas: 4}}, []int32{1}},
		"lowered below":      {[]string{"0"}, Books{{Name: "a", Replicas: 1, MissingReplicas: 4}}, []int32{0}},
		"bounded now":        {[]string{"4"}, Books{{Name: "a", Replicas: 1, MissingReplicas: -1}}, []int32{3}},
		"without bound now":  {[]string{""}, Books{{Name: "a", Replicas: 1, MissingReplicas: 0}}, []int32{-1}},
		"raised, not looked": {[]string{"9"}, Books{{Name: "a", Replicas: 1, MissingReplicas: 1}}, []int32{1}},
	} {
		got, err := Align(subsets(tc.most...), 10, tc.old)
		if err != nil {
			t.Fatal(name, err)
		}
		missing := make([]int32, len(got))
		for i := range got {
			missing[i] = got[i].MissingReplicas
			if got[i].Name != string(rune('a'+i)) {
				t.Errorf("%s: %s at %d", name, got[i].Name, i)
			}
		}
		if diff := cmp.Diff(tc.want, missing); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := Align(subsets("0.2%"), 10, nil); err == nil {
		t.Error("a quota that cannot be told")
	}
}
