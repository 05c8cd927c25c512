// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/split"
)

func workload(replicas int64, image string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"replicas": replicas, "template": map[string]any{"image": image}},
	}}
}

func TestRevisionFollowsTheTemplateOnly(t *testing.T) {
	a, b, c := Revision(workload(1, "x")), Revision(workload(2, "x")), Revision(workload(1, "y"))
	if a != b || a == c || !strings.HasPrefix(a, "web-") {
		t.Error(a, b, c)
	}
	if r := Revision(&unstructured.Unstructured{Object: map[string]any{"data": "x"}}); r != "" {
		t.Error(r)
	}
}

func TestChildCopies(t *testing.T) {
	inner := map[string]any{"a": 1}
	parent := map[string]any{"x": inner}
	Child(parent, "x")["a"] = 2
	Child(parent, "y")["b"] = 3
	if inner["a"] != 1 {
		t.Error("the original changed")
	}
	if d := cmp.Diff(map[string]any{"x": map[string]any{"a": 2}, "y": map[string]any{"b": 3}}, parent); d != "" {
		t.Error(d)
	}
}

func TestShortageIsBounded(t *testing.T) {
	s := Shortage{Subset: "a", Replicas: 7}
	for i := range 30 {
		s.Full = append(s.Full, split.Full{Name: strings.Repeat("c", i+1), Replicas: 2, Why: "only 2 fit"})
	}
	if got := s.String(); !strings.HasPrefix(got, "7 replicas of subset a have no place: c has 2 (only 2 fit), ") || !strings.HasSuffix(got, ", and 20 more") {
		t.Error(got)
	}
}

func TestSums(t *testing.T) {
	s := Summary{Reports: []Report{
		{Counters: map[string]fleetv1alpha1.SubsetCounters{"a": {Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, UpdatedReadyReplicas: 1, UnavailableReplicas: 1, Partition: 1}, "b": {Replicas: 5}}},
		{Counters: map[string]fleetv1alpha1.SubsetCounters{"a": {Replicas: 2}}},
	}}
	if d := cmp.Diff(fleetv1alpha1.SubsetCounters{Subset: "a", Replicas: 3, ReadyReplicas: 1, UpdatedReplicas: 1, UpdatedReadyReplicas: 1, UnavailableReplicas: 1, Partition: 1}, s.Of("a")); d != "" {
		t.Error(d)
	}
	if got := s.Total().Replicas; got != 8 {
		t.Error(got)
	}
	h := Holdings{"m1": {"a": 2, "b": 4}, "m2": {"a": 3}}
	if h.Of("m1", Whole) != 6 || h.Total(Whole) != 9 || h.Total("a") != 5 || h.Of("m2", "a") != 3 || h.Of("m3", "a") != 0 {
		t.Error(h)
	}
}
