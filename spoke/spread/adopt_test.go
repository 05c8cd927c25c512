// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// onNode is a pod of no subset.
func onNode(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": "v"}}, Spec: corev1.PodSpec{NodeName: node}}
}

// named says that the nodes of a subset are called as it is.
func named(pod *corev1.Pod, subset *appsv1beta1.WorkloadSpreadSubset) (bool, int64) {
	return pod.Spec.NodeName == subset.Name, 0
}

// The numbers are those of the incumbent.
func TestScore(t *testing.T) {
	weighs := func(weight int64) Nodes {
		return func(*corev1.Pod, *appsv1beta1.WorkloadSpreadSubset) (bool, int64) { return true, weight }
	}
	for name, tc := range map[string]struct {
		patch string
		nodes Nodes
		room  bool
		node  string
		want  int64
	}{
		"preferred and alike":   {`{"metadata":{"labels":{"l":"v"}}}`, weighs(100), false, "n", 10010},
		"preferred":             {`{"metadata":{"labels":{"l":"w"}}}`, weighs(100), false, "n", 10000},
		"alike":                 {"", weighs(0), false, "n", 10},
		"alike but annotations": {`{"metadata":{"annotations":{"x":"y"}}}`, weighs(0), true, "n", 11},
		"no such patch":         {`{"spec":1}`, weighs(0), true, "n", 1},
		"on another node":       {"", named, true, "n", -1},
		"on no node":            {"", weighs(100), true, "", -1},
	} {
		subset := &appsv1beta1.WorkloadSpreadSubset{Name: "a", Patch: runtime.RawExtension{Raw: []byte(tc.patch)}}
		if got := score(onNode("p", tc.node), subset, tc.room, tc.nodes); got != tc.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A WorkloadSpread made after its pods takes all of a subset's nodes in, those that are too many as well; their costs say
// who goes first.
func TestAdopt(t *testing.T) {
	of := subsets("2", "")
	strangers := []*corev1.Pod{onNode("0", "a"), onNode("1", "a"), onNode("2", "a"), onNode("3", "a"), onNode("4", "b"), onNode("5", "other"), onNode("6", "")}
	groups := map[string][]*corev1.Pod{}
	got, err := Adopt(of, 7, groups, strangers, named)
	want := map[string]string{"0": "a", "1": "a", "2": "a", "3": "a", "4": "b"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	costs, _ := Costs(of, 7, groups, true)
	want = map[string]string{"0": "-100", "1": "-100", "2": "200", "3": "200", "4": "100", "5": "-300", "6": "-300"}
	if diff := cmp.Diff(want, costs); diff != "" {
		t.Error(diff)
	}

	// Where a pod fits several, those with room come first, and pods that are there take room.
	anywhere := func(*corev1.Pod, *appsv1beta1.WorkloadSpreadSubset) (bool, int64) { return true, 0 }
	groups = members(of, 1)
	got, _ = Adopt(of, 4, groups, strangers[:3], anywhere)
	if diff := cmp.Diff(map[string]string{"0": "a", "1": "b", "2": "b"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Adopt(subsets("0.2%"), 1, groups, nil, anywhere); err == nil {
		t.Error("a quota that cannot be told")
	}
}

func TestAdoptionPatch(t *testing.T) {
	for name, tc := range map[string]struct {
		patch string
		keep  bool
		want  string
	}{
		"no patch": {"", false, `{"metadata":{"annotations":{"apps.kruise.io/matched-workloadspread":"{\"name\":\"ws\",\"subset\":\"a\"}"}}}`},
		"metadata alone": {`{"metadata":{"labels":{"l":"v"},"annotations":{"x":"y"}},"spec":{"priorityClassName":"p"}}`, false,
			`{"metadata":{"annotations":{"apps.kruise.io/matched-workloadspread":"{\"name\":\"ws\",\"subset\":\"a\"}","x":"y"},"labels":{"l":"v"}}}`},
		"forbidden": {`{"metadata":{"labels":{"l":"v"}}}`, true,
			`{"metadata":{"annotations":{"apps.kruise.io/matched-workloadspread":"{\"name\":\"ws\",\"subset\":\"a\"}"}}}`},
		"broken": {`{"metadata":1}`, false, ""},
	} {
		got, err := AdoptionPatch(&appsv1beta1.WorkloadSpreadSubset{Patch: runtime.RawExtension{Raw: []byte(tc.patch)}}, Match{Name: "ws", Subset: "a"}, tc.keep)
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

// A path that leads nowhere is an error, never a panic (WS-09).
func TestSum(t *testing.T) {
	content := map[string]any{"spec": map[string]any{
		"n": int64(3), "text": "3", "half": 0.5, "below": int64(-1), "huge": int64(math.MaxInt32), "empty": []any{}, "none": nil,
		"roles": []any{map[string]any{"replicas": int64(1)}, map[string]any{"replicas": int64(4)}},
	}}
	for name, tc := range map[string]struct {
		paths []string
		want  int32
		ok    bool
	}{
		"none":          {nil, 0, true},
		"empty":         {[]string{""}, 0, true},
		"one":           {[]string{"spec.n"}, 3, true},
		"sum":           {[]string{"spec.roles.0.replicas", "spec.roles.1.replicas", "spec.n"}, 8, true},
		"missing":       {[]string{"spec.m"}, 0, false},
		"beyond":        {[]string{"spec.roles.2.replicas"}, 0, false},
		"before":        {[]string{"spec.roles.-1.replicas"}, 0, false},
		"no index":      {[]string{"spec.roles.a.replicas"}, 0, false},
		"in empty list": {[]string{"spec.empty.0"}, 0, false},
		"below nothing": {[]string{"spec.none.0"}, 0, false},
		"below number":  {[]string{"spec.n.0"}, 0, false},
		"list":          {[]string{"spec.roles"}, 0, false},
		"text":          {[]string{"spec.text"}, 0, false},
		"fraction":      {[]string{"spec.half"}, 0, false},
		"negative":      {[]string{"spec.below"}, 0, false},
		"too many":      {[]string{"spec.huge", "spec.n"}, 0, false},
		"dots":          {[]string{"..."}, 0, false},
	} {
		got, err := Sum(content, tc.paths)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: %d %v", name, got, err)
		}
	}
	if _, err := Sum(nil, []string{"spec.replicas"}); err == nil {
		t.Error("no content")
	}
}
