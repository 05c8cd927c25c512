// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
)

func report(cluster string, replicas, ready, updated, updatedReady int32) share.Report {
	return share.Report{Cluster: cluster, Counters: map[string]fleetv1alpha1.SubsetCounters{
		"a": {Subset: "a", Replicas: replicas, ReadyReplicas: ready, UpdatedReplicas: updated, UpdatedReadyReplicas: updatedReady},
	}}
}

func TestStatus(t *testing.T) {
	now := metav1.Unix(1000, 0)
	plan := &share.Plan{Revision: "web-2", Subsets: []share.Subset{{Name: "a", Replicas: 5, Partition: 1}}}
	placed := metav1.Condition{Type: fleetv1alpha1.ConditionFleetPlaced, Status: "True", Reason: "Placed"}
	wantPlaced := map[string]any{"type": "FleetPlaced", "status": "True", "reason": "Placed", "lastTransitionTime": "1970-01-01T00:16:40Z"}
	updated := func(status, reason string) map[string]any {
		return map[string]any{"type": "UnitedDeploymentUpdated", "status": status, "reason": reason, "lastTransitionTime": "1970-01-01T00:16:40Z"}
	}
	subset := func(ready int64) map[string]any {
		out := map[string]any{"name": "a", "replicas": int64(5), "partition": int64(1)}
		if ready > 0 {
			out["readyReplicas"] = ready
		}
		return out
	}
	for name, tc := range map[string]struct {
		status  map[string]any
		summary share.Summary
		want    map[string]any
	}{
		"first pass": {nil, share.Summary{Plan: plan, Conditions: []metav1.Condition{placed}}, map[string]any{
			"replicas": int64(0), "updatedReplicas": int64(0), "currentRevision": "web-2", "updatedRevision": "web-2", "labelSelector": "app=web",
			"subsetStatuses": []any{subset(0)}, "conditions": []any{updated("True", reasonUpdated), wantPlaced},
		}},
		"rolling out": {map[string]any{"currentRevision": "web-1", "observedGeneration": int64(6)},
			share.Summary{Plan: plan, Observed: true, Reports: []share.Report{report("m1", 3, 3, 1, 1), report("m2", 2, 1, 2, 1)}}, map[string]any{
				"observedGeneration": int64(7), "replicas": int64(5), "readyReplicas": int64(4), "updatedReplicas": int64(3), "updatedReadyReplicas": int64(2),
				"currentRevision": "web-1", "updatedRevision": "web-2", "labelSelector": "app=web", "subsetStatuses": []any{subset(4)},
				"conditions": []any{updated("False", reasonUpdating)},
			}},
		"complete": {map[string]any{"currentRevision": "web-1", "observedGeneration": int64(6)},
			share.Summary{Plan: plan, Observed: true, Reports: []share.Report{report("m1", 5, 5, 5, 5)}}, map[string]any{
				"observedGeneration": int64(7), "replicas": int64(5), "readyReplicas": int64(5), "updatedReplicas": int64(5), "updatedReadyReplicas": int64(5),
				"currentRevision": "web-2", "updatedRevision": "web-2", "labelSelector": "app=web", "subsetStatuses": []any{subset(5)},
				"conditions": []any{updated("True", reasonUpdated)},
			}},
		"complete, but one member has not observed": {map[string]any{"currentRevision": "web-1", "observedGeneration": int64(6)},
			share.Summary{Plan: plan, Reports: []share.Report{report("m1", 5, 5, 5, 5)}}, map[string]any{
				"observedGeneration": int64(6), "replicas": int64(5), "readyReplicas": int64(5), "updatedReplicas": int64(5), "updatedReadyReplicas": int64(5),
				"currentRevision": "web-1", "updatedRevision": "web-2", "labelSelector": "app=web", "subsetStatuses": []any{subset(5)},
				"conditions": []any{updated("False", reasonUpdating)},
			}},
		"no plan keeps what is known": {map[string]any{"currentRevision": "web-1", "updatedRevision": "web-1", "subsetStatuses": []any{subset(4)}},
			share.Summary{Conditions: []metav1.Condition{placed}, Reports: []share.Report{report("m1", 5, 5, 5, 5)}}, map[string]any{
				"replicas": int64(5), "readyReplicas": int64(5), "updatedReplicas": int64(5), "updatedReadyReplicas": int64(5),
				"currentRevision": "web-1", "updatedRevision": "web-1", "labelSelector": "app=web", "subsetStatuses": []any{subset(4)}, "conditions": []any{wantPlaced},
			}},
	} {
		t.Run(name, func(t *testing.T) {
			target := united(t, "{replicas: 5, topology: {subsets: [{name: a}]}}")
			if tc.status != nil {
				target.Object["status"] = tc.status
			}
			tc.summary.Now = now
			got, err := Divider{}.Status(target, tc.summary)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			target.Object["status"] = got
			tc.summary.Now = metav1.Unix(2000, 0)
			if again, err := (Divider{}).Status(target, tc.summary); err != nil || cmp.Diff(got, again) != "" {
				t.Errorf("a second pass changes %s (%v)", cmp.Diff(got, again), err)
			}
		})
	}
}

func TestReservedPodsStayOutOfTheSelector(t *testing.T) {
	got, err := Divider{}.Status(united(t, "{topology: {scheduleStrategy: {type: Adaptive, adaptive: {reserveUnschedulablePods: true}}}}"), share.Summary{})
	if err != nil || got["labelSelector"] != "app=web,apps.kruise.io/united-deployment-reserved-pod=false" {
		t.Error(got, err)
	}
}
