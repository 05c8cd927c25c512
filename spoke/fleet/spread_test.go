// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// spreadText is a WorkloadSpread of subsets a and b as the hub renders it.
const spreadText = `
apiVersion: apps.kruise.io/v1beta1
kind: WorkloadSpread
metadata: {name: web, namespace: shop}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
  scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 30}}
  subsets: [{name: b, maxReplicas: 3, tolerations: [{key: k, operator: Exists}]}, {name: a}]
`

func TestSpreadCounters(t *testing.T) {
	now := time.Unix(1000, 0)
	given := func(annotation string, age time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{appsv1beta1.MatchedWorkloadSpreadKey: annotation}
			p.CreationTimestamp = metav1.NewTime(now.Add(-age))
		}
	}
	inB := `{"Name":"web","subset":"b","uid":"x"}`
	views := []subsetView{{pods: []*corev1.Pod{
		podAt("", false, unschedulable(""), given(inB, 30*time.Second)),
		podAt("", false, unschedulable(""), given(inB, 29*time.Second)),
		podAt("", false, unschedulable(""), given(inB, time.Hour), going),
		podAt("", false, unschedulable(""), given(`{"name":"other","subset":"b"}`, time.Hour)),
		podAt("", false, unschedulable(""), given("?", time.Hour)),
		podAt("", false, given(inB, time.Hour)),
		podAt("", false, unschedulable(""), given(inB, time.Hour), func(p *corev1.Pod) { p.Spec.NodeName = "n" }),
	}}}
	obj := parse(t, spreadText)
	obj.Object["status"] = map[string]any{"subsetStatuses": []any{
		map[string]any{"name": "b", "replicas": int64(2), "missingReplicas": int64(1)},
		map[string]any{"name": "a", "replicas": int64(4), "missingReplicas": int64(-1)},
		map[string]any{"name": "gone", "replicas": int64(4)},
	}}
	want := []fleetv1alpha1.SpreadCounters{{Subset: "a", Replicas: 4, MissingReplicas: -1}, {Subset: "b", Replicas: 2, MissingReplicas: 1, UnschedulableReplicas: 1}}
	got, err := spreadCounters(obj, views, now)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	obj.Object["spec"].(map[string]any)["scheduleStrategy"] = map[string]any{"type": "Fixed"}
	want[1].UnschedulableReplicas = 0
	got, err = spreadCounters(obj, views, now)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error("pods wait for ever:", err, d)
	}
	obj.Object["status"] = "?"
	if _, err := spreadCounters(obj, nil, now); err == nil {
		t.Error("an unreadable object is taken")
	}
}

func TestTakenUp(t *testing.T) {
	obj := parse(t, spreadText)
	obj.SetGeneration(2)
	for observed, waits := range map[int64]bool{1: true, 2: false, 3: false} {
		obj.Object["status"] = map[string]any{"observedGeneration": observed}
		var waiting waitingError
		if got := errors.As(takenUp(obj), &waiting); got != waits {
			t.Errorf("observed %d: waits %v", observed, got)
		}
	}
	if takenUp(nil) != nil {
		t.Error("what is not there is waited for")
	}
}

// TestBoundsAreNumbers: they are the member's part, so an object that is there may have others.
func TestBoundsAreNumbers(t *testing.T) {
	live, other := parse(t, spreadText), parse(t, strings.ReplaceAll(spreadText, "maxReplicas: 3, ", ""))
	if got := differences(live, other); len(got) > 0 {
		t.Error(got)
	}
	other = parse(t, strings.ReplaceAll(spreadText, "key: k", "key: l"))
	if d := cmp.Diff([]string{"spec.subsets[0].tolerations[0].key"}, differences(live, other)); d != "" {
		t.Error(d)
	}
}
