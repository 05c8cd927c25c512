// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/copies"
	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/scalable"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/uniteddeployment"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSpreadOver: a WorkloadSpread decides the shares, and the divider of the kind keeps doing the rest.
func TestSpreadOver(t *testing.T) {
	spread := parsed(t, `
apiVersion: apps.kruise.io/v1beta1
kind: WorkloadSpread
metadata: {name: web, namespace: shop}
spec: {targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}, subsets: [{name: a, maxReplicas: 3, patch: {metadata: {labels: {x: y}}}}, {name: b}]}`)
	set := parsed(t, `
apiVersion: apps.kruise.io/v1beta1
kind: CloneSet
metadata: {name: web, namespace: shop, uid: u}
spec: {replicas: 9, updateStrategy: {rollingUpdate: {partition: 34%}}, scaleStrategy: {podsToDelete: [web-x]}}`)
	job := parsed(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: web, namespace: shop, uid: u}, spec: {parallelism: 4}}")
	for name, tc := range map[string]struct {
		inner  fleetplacement.Divider
		target *unstructured.Unstructured
		mode   fleetv1alpha1.DivisionMode
		want   []string
		notes  int
	}{
		"shares, partitions and notes": {scalable.Divider{}, set, fleetv1alpha1.DivisionDivided, []string{"east 3 keeps 1, objects 2", "west 6 keeps 3, objects 2"}, 1},
		"copies that are counted":      {scalable.Divider{}, set, fleetv1alpha1.DivisionDuplicated, []string{"east 9 keeps 4, objects 2", "west 9 keeps 4, objects 2"}, 1},
		"copies":                       {copies.Divider{}, job, fleetv1alpha1.DivisionDuplicated, []string{"east objects 2", "west objects 2"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			req := share.Request{Target: tc.target, Mode: tc.mode, Held: share.Holdings{}, Left: map[string]string{}}
			for i, cluster := range []string{"east", "west"} {
				chosen := placement.Selected{Cluster: placement.Cluster{Name: cluster}}
				req.Clusters = append(req.Clusters, share.Cluster{Selected: chosen, Weight: int32(1 + 2*i), Object: tc.target})
			}
			plan, err := spreadOver(tc.inner, spread).Divide(req)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range plan.Slices {
				line := s.Cluster
				for i := range s.Split {
					line += fmt.Sprintf(" %d keeps %d,", s.Split[i].Replicas, s.Partitions[i].Partition)
				}
				got = append(got, fmt.Sprintf("%s objects %d", line, 1+len(s.Others)))
			}
			if d := cmp.Diff(tc.want, got); d != "" || len(plan.Notes) != tc.notes || len(plan.Short) > 0 {
				t.Error(d, plan.Notes, plan.Short)
			}
		})
	}
	own := uniteddeployment.Divider{}
	if spreadOver(own, spread) != fleetplacement.Divider(own) {
		t.Error("a UnitedDeployment has subsets of its own")
	}
}
