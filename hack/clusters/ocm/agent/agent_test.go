// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func node(region, zone, cpu string, unschedulable bool) corev1.Node {
	n := corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}}
	n.Labels = map[string]string{corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone}
	n.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
	n.Status.Allocatable = n.Status.Capacity
	return n
}

func claim(name, value string) clusterv1alpha1.ClusterClaim {
	c := clusterv1alpha1.ClusterClaim{}
	c.Name, c.Spec.Value = name, value
	return c
}

func TestSumNodes(t *testing.T) {
	capacity, allocatable := sumNodes([]corev1.Node{node("", "", "2", false), node("", "", "1500m", false), node("", "", "4", true)})
	if got := capacity["cpu"]; got.Cmp(resource.MustParse("7500m")) != 0 {
		t.Errorf("capacity %v", &got)
	}
	if got := allocatable["cpu"]; got.Cmp(resource.MustParse("3500m")) != 0 {
		t.Errorf("allocatable %v", &got)
	}
}

func TestClaimsFrom(t *testing.T) {
	for name, tt := range map[string]struct {
		nodes         []corev1.Node
		region, zones string
	}{
		"no node":      {},
		"no label":     {nodes: []corev1.Node{{}}},
		"zones":        {nodes: []corev1.Node{node("r1", "b", "1", false), node("r1", "a", "1", false), node("r1", "b", "1", true)}, region: "r1", zones: "a,b"},
		"two regions":  {nodes: []corev1.Node{node("r2", "", "1", false), node("r1", "", "1", false)}, region: "r1,r2"},
		"some without": {nodes: []corev1.Node{{}, node("r1", "a", "1", false)}, region: "r1", zones: "a"},
	} {
		want := map[string]string{"region": tt.region, "zones": tt.zones}
		if diff := cmp.Diff(want, claimsFrom(tt.nodes)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestExposed(t *testing.T) {
	claims := []clusterv1alpha1.ClusterClaim{
		claim("zones", "a,b"), claim("empty", ""), claim("platform.open-cluster-management.io", "x"), claim("id.k8s.io", "y"), claim("region", "r"),
	}
	want := []clusterv1.ManagedClusterClaim{
		{Name: "id.k8s.io", Value: "y"}, {Name: "platform.open-cluster-management.io", Value: "x"},
		{Name: "region", Value: "r"}, {Name: "zones", Value: "a,b"},
	}
	if diff := cmp.Diff(want, exposed(claims)); diff != "" {
		t.Error(diff)
	}
	for i := range 30 {
		claims = append(claims, claim(fmt.Sprintf("c%02d", i), "v"))
	}
	got := exposed(claims)
	if len(got) != 22 || got[0].Name != "id.k8s.io" || got[2].Name != "c00" || got[21].Name != "c19" {
		t.Errorf("%d claims: %v", len(got), got)
	}
}

func TestStatusOf(t *testing.T) {
	up := observation{answered: true, facts: &facts{
		version: "v1.37.2", nodes: []corev1.Node{node("r", "a", "2", false)}, claims: []clusterv1alpha1.ClusterClaim{claim("region", "r")},
	}}
	healthy := statusOf(clusterv1.ManagedClusterStatus{}, up, 0, now)
	unknown := *healthy.DeepCopy()
	meta.SetStatusCondition(&unknown.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: "Unknown", Reason: "R"})
	for name, tt := range map[string]struct {
		old      clusterv1.ManagedClusterStatus
		observed observation
		failures int
		want     metav1.ConditionStatus
	}{
		"answers":                       {observed: up, want: "True"},
		"answers again":                 {old: unknown, observed: up, want: "True"},
		"answers, but cannot be read":   {old: healthy, observed: observation{answered: true}, want: "True"},
		"failed once":                   {old: healthy, failures: 1, want: "True"},
		"failed once, unknown before":   {old: unknown, failures: 1, want: "Unknown"},
		"failed once, nothing known":    {failures: 1},
		"failed twice":                  {old: healthy, failures: 2, want: "False"},
		"failed for long":               {old: healthy, failures: 200, want: "False"},
		"failed twice, nothing known":   {failures: 2, want: "False"},
		"failed twice, unknown before":  {old: unknown, failures: 2, want: "False"},
		"nothing changes the next time": {old: healthy, observed: up, want: "True"},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusOf(tt.old, tt.observed, tt.failures, now.Add(time.Minute))
			var status metav1.ConditionStatus
			if c := meta.FindStatusCondition(got.Conditions, clusterv1.ManagedClusterConditionAvailable); c != nil {
				status = c.Status
			}
			if status != tt.want {
				t.Errorf("available %q, want %q", status, tt.want)
			}
			if !meta.IsStatusConditionTrue(got.Conditions, clusterv1.ManagedClusterConditionJoined) {
				t.Error("not joined")
			}
			if tt.observed.facts == nil && !cmp.Equal(tt.old.ClusterClaims, got.ClusterClaims) {
				t.Error("facts that could not be read have changed")
			}
		})
	}
	if healthy.Version.Kubernetes != "v1.37.2" || len(healthy.ClusterClaims) != 1 || len(healthy.Capacity) != 1 {
		t.Errorf("facts: %+v", healthy)
	}
	if diff := cmp.Diff(healthy, statusOf(healthy, up, 0, now.Add(time.Hour))); diff != "" {
		t.Errorf("the same observation changes the status: %s", diff)
	}
}

func TestCountFailures(t *testing.T) {
	if got := (observation{}).countFailures(1); got != 2 {
		t.Error(got)
	}
	if got := (observation{answered: true}).countFailures(7); got != 0 {
		t.Error(got)
	}
}

func TestMatters(t *testing.T) {
	base := node("r", "a", "2", false)
	beat := *base.DeepCopy()
	beat.ResourceVersion = "7"
	moved, cordoned, grown := *base.DeepCopy(), node("r", "a", "2", true), node("r", "a", "3", false)
	moved.Labels[corev1.LabelTopologyZone] = "b"
	for name, tt := range map[string]struct {
		after corev1.Node
		want  bool
	}{"heartbeat": {beat, false}, "label": {moved, true}, "cordon": {cordoned, true}, "capacity": {grown, true}} {
		if got := matters(&base, &tt.after); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !matters(&clusterv1alpha1.ClusterClaim{}, &clusterv1alpha1.ClusterClaim{}) {
		t.Error("claims matter")
	}
}

func TestSlimNodeKeepsWhatIsReported(t *testing.T) {
	n := node("r", "a", "2", true)
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"x"}}}
	slim, err := slimNode(&n)
	if err != nil {
		t.Fatal(err)
	}
	n.Status.Images = nil
	if diff := cmp.Diff(&n, slim); diff != "" {
		t.Error(diff)
	}
}
