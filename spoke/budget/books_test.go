// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ready is a pod that runs and is ready, made an hour ago.
func ready(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
}

func readyPods(n int) []*corev1.Pod {
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = ready(fmt.Sprint("p", i))
	}
	return out
}

func unready(pods []*corev1.Pod, n int) []*corev1.Pod {
	for _, pod := range pods[:n] {
		pod.Status.Conditions = nil
	}
	return pods
}

// entries are of the pods from first on, made some time ago.
func entries(first, n int, ago time.Duration) map[string]metav1.Time {
	out := map[string]metav1.Time{}
	for i := range n {
		out[fmt.Sprint("p", first+i)] = metav1.NewTime(noon.Add(-ago))
	}
	return out
}

func limit(text string) *intstr.IntOrString { return ptr.To(intstr.Parse(text)) }

// The first table of spec 4.9, as far as it is about numbers: the pods are those that are active, and the expected
// number is found by the kind.
func TestTally(t *testing.T) {
	type numbers struct{ Allowed, Current, Desired, Total int32 }
	fresh := time.Second
	for name, tc := range map[string]struct {
		spec               policyv1beta1.PodUnavailableBudgetSpec
		pods               []*corev1.Pod
		expected           int32
		disrupted, changed map[string]metav1.Time
		want               numbers
		left, notDeleted   int
		recheck            time.Duration
	}{
		"replicas 0, or its Deployment is deleted": {pods: readyPods(10), expected: 0, want: numbers{10, 10, 0, 0}},
		"15 pods are to be protected":              {pods: readyPods(10), expected: 15, want: numbers{0, 10, 10, 15}},
		"surge, one is not ready":                  {pods: unready(readyPods(13), 1), expected: 10, want: numbers{5, 12, 7, 10}},
		"9 are available":                          {pods: readyPods(9), expected: 10, want: numbers{2, 9, 7, 10}},
		"no pods, none expected":                   {want: numbers{}},
		"replicas 1, 10 pods":                      {pods: readyPods(10), expected: 1, want: numbers{10, 10, 0, 1}},
		"3 are being deleted":                      {pods: readyPods(7), expected: 10, want: numbers{0, 7, 7, 10}},
		"max 0%":                                   {spec: policyv1beta1.PodUnavailableBudgetSpec{MaxUnavailable: limit("0%")}, pods: readyPods(10), expected: 10, want: numbers{0, 10, 10, 10}},
		"max 100%":                                 {spec: policyv1beta1.PodUnavailableBudgetSpec{MaxUnavailable: limit("100%")}, pods: readyPods(10), expected: 10, want: numbers{10, 10, 0, 10}},
		"max 100":                                  {spec: policyv1beta1.PodUnavailableBudgetSpec{MaxUnavailable: limit("100")}, pods: readyPods(10), expected: 10, want: numbers{10, 10, 0, 10}},
		"min 100":                                  {spec: policyv1beta1.PodUnavailableBudgetSpec{MinAvailable: limit("100")}, pods: readyPods(5), expected: 10, want: numbers{0, 5, 100, 10}},
		"min 50%":                                  {spec: policyv1beta1.PodUnavailableBudgetSpec{MinAvailable: limit("50%")}, pods: readyPods(5), expected: 10, want: numbers{0, 5, 5, 10}},
		"min 80%":                                  {spec: policyv1beta1.PodUnavailableBudgetSpec{MinAvailable: limit("80%")}, pods: readyPods(10), expected: 10, want: numbers{2, 10, 8, 10}},
		"percentages are rounded up":               {spec: policyv1beta1.PodUnavailableBudgetSpec{MinAvailable: limit("34%")}, pods: readyPods(5), expected: 5, want: numbers{3, 5, 2, 5}},
		"20 in the books":                          {pods: readyPods(100), expected: 100, disrupted: entries(0, 10, fresh), changed: entries(10, 10, fresh), want: numbers{10, 80, 70, 100}, left: 20, recheck: 9 * time.Second},
		"5 more are not ready":                     {pods: unready(readyPods(100), 5), expected: 100, disrupted: entries(5, 10, fresh), changed: entries(15, 10, fresh), want: numbers{5, 75, 70, 100}, left: 20, recheck: 9 * time.Second},
		"5 more are being deleted":                 {pods: readyPods(95), expected: 100, disrupted: entries(0, 10, fresh), changed: entries(10, 10, fresh), want: numbers{5, 75, 70, 100}, left: 20, recheck: 9 * time.Second},
		"5 updates 10 s old, 5 of 15 deletions are seen":  {pods: readyPods(95), expected: 100, disrupted: entries(85, 15, fresh), changed: entries(0, 5, 10*time.Second), want: numbers{15, 85, 70, 100}, left: 10, recheck: 19 * time.Second},
		"5 deletions 125 s old, 5 others are seen":        {pods: readyPods(95), expected: 100, disrupted: entries(0, 5, 125*time.Second), changed: entries(5, 10, fresh), want: numbers{15, 85, 70, 100}, left: 10, notDeleted: 5, recheck: 9 * time.Second},
		"the same, where 50 are to be protected":          {pods: readyPods(95), expected: 50, disrupted: entries(0, 5, 125*time.Second), changed: entries(5, 10, fresh), want: numbers{50, 85, 35, 50}, left: 10, notDeleted: 5, recheck: 9 * time.Second},
		"an update and a deletion of one pod count once":  {pods: readyPods(2), expected: 2, disrupted: entries(0, 1, fresh), changed: entries(0, 1, fresh), want: numbers{0, 1, 1, 2}, left: 2, recheck: 9 * time.Second},
		"an entry of a pod of that name that is gone":     {pods: []*corev1.Pod{made("p0", noon.Add(-5*time.Second)), ready("p1")}, expected: 2, disrupted: entries(0, 1, 6*time.Second), want: numbers{1, 2, 1, 2}},
		"a pod that a label marks is not available":       {pods: []*corev1.Pod{labelled("p0"), ready("p1")}, expected: 2, want: numbers{0, 1, 1, 2}},
		"an image that does not run yet is not available": {pods: []*corev1.Pod{digest("p0", "a", "b"), digest("p1", "a", "a")}, expected: 2, want: numbers{0, 1, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.spec.MaxUnavailable == nil && tc.spec.MinAvailable == nil {
				tc.spec.MaxUnavailable = limit("30%")
			}
			b := &Budget{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: tc.spec}
			b.Status.DisruptedPods, b.Status.UnavailablePods = tc.disrupted, tc.changed
			got, err := Tally(&Scene{Now: noon, Budget: b, Pods: tc.pods, Expected: tc.expected})
			if err != nil {
				t.Fatal(err)
			}
			s := got.Status
			if d := cmp.Diff(tc.want, numbers{s.UnavailableAllowed, s.CurrentAvailable, s.DesiredAvailable, s.TotalReplicas}); d != "" {
				t.Error(d)
			}
			if n := len(s.DisruptedPods) + len(s.UnavailablePods); n != tc.left {
				t.Errorf("%d entries are left, want %d", n, tc.left)
			}
			if len(got.NotDeleted) != tc.notDeleted || got.Recheck != tc.recheck || s.ObservedGeneration != 4 {
				t.Errorf("not deleted %d, again in %s, generation %d", len(got.NotDeleted), got.Recheck, s.ObservedGeneration)
			}
		})
	}
}

func TestLimitsThatCannotBeRead(t *testing.T) {
	for _, spec := range []policyv1beta1.PodUnavailableBudgetSpec{{}, {MaxUnavailable: limit("x%")}, {MinAvailable: limit("many")}} {
		if _, err := Tally(&Scene{Budget: &Budget{Spec: spec}}); err == nil {
			t.Errorf("%+v was counted by", spec)
		}
	}
}

func made(name string, at time.Time) *corev1.Pod {
	pod := ready(name)
	pod.CreationTimestamp = metav1.NewTime(at)
	return pod
}

func labelled(name string) *corev1.Pod {
	pod := ready(name)
	pod.Labels = map[string]string{"unavailable-pod.kruise.io/drill": ""}
	return pod
}
