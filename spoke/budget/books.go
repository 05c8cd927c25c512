// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

const (
	// updateTimeout is how long an update that was let through counts as unavailable where nothing is seen of it.
	updateTimeout = 10 * time.Second
	// deleteTimeout is the same of everything else.
	deleteTimeout = 20 * time.Second
	// trusted is how old an entry may be to let another operation through as it is: one that is about to run out would
	// be forgotten before anything is seen of that.
	trusted = 5 * time.Second
)

// IsBooked says whether the pod is in the books. A pod that was made after the entry is another one.
func IsBooked(s *policyv1beta1.PodUnavailableBudgetStatus, pod *corev1.Pod) bool {
	_, booked := bookedAt(s, pod)
	return booked
}

// bookedAt is when the pod's newest entry was made.
func bookedAt(s *policyv1beta1.PodUnavailableBudgetStatus, pod *corev1.Pod) (newest time.Time, booked bool) {
	for _, entries := range []map[string]metav1.Time{s.DisruptedPods, s.UnavailablePods} {
		if at, ok := entries[pod.Name]; ok && speaksOf(at, pod) && at.After(newest) {
			newest, booked = at.Time, true
		}
	}
	return newest, booked
}

func speaksOf(at metav1.Time, pod *corev1.Pod) bool { return !pod.CreationTimestamp.After(at.Time) }

// Book writes the pod of a request that Check reserved for into the books. One that is in them counts already.
func Book(s *policyv1beta1.PodUnavailableBudgetStatus, r *Request) {
	if !IsBooked(s, r.Pod) {
		s.UnavailableAllowed--
	}
	entries := &s.DisruptedPods
	if r.Operation == policyv1beta1.PubUpdateOperation {
		entries = &s.UnavailablePods
	}
	if *entries == nil {
		*entries = map[string]metav1.Time{}
	}
	(*entries)[r.Pod.Name] = metav1.NewTime(r.Now)
}

// Scene is what was seen of a budget and its pods. Nothing in it is changed.
type Scene struct {
	Now    time.Time
	Budget *Budget
	// Pods that are protected and active, and how many there should be.
	Pods     []*corev1.Pod
	Expected int32
}

// Count is what the books say after a look at the pods.
type Count struct {
	Status policyv1beta1.PodUnavailableBudgetStatus
	// Recheck is when the next entry runs out; 0 when there is none.
	Recheck time.Duration
	// NotDeleted are pods that were let go and are still there.
	NotDeleted []*corev1.Pod
}

// Tally counts. An error says that the budget's limit cannot be read.
func Tally(s *Scene) (Count, error) {
	desired, err := Desired(&s.Budget.Spec, s.Expected)
	if err != nil {
		return Count{}, err
	}
	var out Count
	old := &s.Budget.Status
	var current int32
	for _, pod := range s.Pods {
		gone := out.keep(&out.Status.DisruptedPods, pod, entry{old.DisruptedPods, deleteTimeout, s.Now})
		if gone == ranOut {
			out.NotDeleted = append(out.NotDeleted, pod)
		}
		busy := out.keep(&out.Status.UnavailablePods, pod, entry{old.UnavailablePods, updateTimeout, s.Now})
		if gone != kept && busy != kept && IsAvailable(pod) {
			current++
		}
	}
	out.Status.ObservedGeneration = s.Budget.Generation
	out.Status.TotalReplicas, out.Status.DesiredAvailable = s.Expected, desired
	out.Status.CurrentAvailable, out.Status.UnavailableAllowed = current, max(0, current-desired)
	return out, nil
}

// entry is where an entry of a pod may be, and how long it holds.
type entry struct {
	from    map[string]metav1.Time
	timeout time.Duration
	now     time.Time
}

type fate int

const (
	none fate = iota
	ranOut
	kept
)

// keep takes the entry of a pod over into the new books, unless it ran out.
func (c *Count) keep(into *map[string]metav1.Time, pod *corev1.Pod, e entry) fate {
	at, found := e.from[pod.Name]
	if !found || !speaksOf(at, pod) {
		return none
	}
	left := at.Add(e.timeout).Sub(e.now)
	if left <= 0 {
		return ranOut
	}
	if *into == nil {
		*into = map[string]metav1.Time{}
	}
	(*into)[pod.Name] = at
	if c.Recheck == 0 || left < c.Recheck {
		c.Recheck = left
	}
	return kept
}

// Desired is how many of the expected pods have to stay available. Percentages are rounded up.
func Desired(spec *policyv1beta1.PodUnavailableBudgetSpec, expected int32) (int32, error) {
	limit, name := spec.MaxUnavailable, "maxUnavailable"
	if limit == nil {
		limit, name = spec.MinAvailable, "minAvailable"
	}
	if limit == nil {
		return 0, fmt.Errorf("neither spec.maxUnavailable nor spec.minAvailable is there")
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, int(expected), true)
	if err != nil {
		return 0, fmt.Errorf("spec.%s: %w", name, err)
	}
	if name == "maxUnavailable" {
		return max(0, expected-int32(n)), nil
	}
	return int32(n), nil
}
