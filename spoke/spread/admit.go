// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Unlimited is the quota of a subset that takes any number of pods.
const Unlimited int32 = -1

// Books are the entries of one version, in the order of the subsets.
type Books []appsv1beta1.WorkloadSpreadSubsetStatus

// Quota is how many pods a subset takes of a workload with so many replicas: percentages are rounded up. It is
// Unlimited without a maximum, and an error when the maximum is neither a number nor a percentage from 0 on.
func Quota(most *intstr.IntOrString, replicas int32) (int32, error) {
	if most == nil {
		return Unlimited, nil
	}
	if most.Type == intstr.String && strings.HasPrefix(most.StrVal, "-") { // a part of a replica would round to 0
		return 0, fmt.Errorf("maxReplicas %s: must not be negative", most.StrVal)
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(most, int(replicas), true)
	if err != nil {
		return 0, fmt.Errorf("maxReplicas %s: %w", most.String(), err)
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("maxReplicas %s: must be from 0 to %d", most.String(), math.MaxInt32)
	}
	return int32(n), nil
}

// Align returns books with one entry a subset, in their order. Entries are found by name; a subset that has none
// takes its whole quota. What an entry takes never is more than the quota allows, if that was lowered since.
func Align(subsets []appsv1beta1.WorkloadSpreadSubset, replicas int32, old Books) (Books, error) {
	books := make(Books, 0, len(subsets))
	for i := range subsets {
		quota, err := Quota(subsets[i].MaxReplicas, replicas)
		if err != nil {
			return nil, fmt.Errorf("subset %s: %w", subsets[i].Name, err)
		}
		entry := appsv1beta1.WorkloadSpreadSubsetStatus{Name: subsets[i].Name, MissingReplicas: quota}
		if known := old.find(entry.Name); known != nil {
			entry = *known.DeepCopy()
			most := left(quota, entry.Replicas, underWay(&entry))
			if quota == Unlimited || entry.MissingReplicas == Unlimited || most < entry.MissingReplicas {
				entry.MissingReplicas = most
			}
		}
		books = append(books, entry)
	}
	return books, nil
}

// underWay is how many more pods there will be than were counted.
func underWay(entry *appsv1beta1.WorkloadSpreadSubsetStatus) int32 {
	return int32(len(entry.CreatingPods) - len(entry.DeletingPods)) //nolint:gosec // bounded by quotas
}

func (b Books) find(name string) *appsv1beta1.WorkloadSpreadSubsetStatus {
	for i := range b {
		if b[i].Name == name {
			return &b[i]
		}
	}
	return nil
}

// creating returns the entry that waits for the pod, deleting the one that the pod leaves.
func (b Books) creating(pod string) *appsv1beta1.WorkloadSpreadSubsetStatus {
	for i := range b {
		if _, ok := b[i].CreatingPods[pod]; ok {
			return &b[i]
		}
	}
	return nil
}

func (b Books) deleting(pod string) *appsv1beta1.WorkloadSpreadSubsetStatus {
	for i := range b {
		if _, ok := b[i].DeletingPods[pod]; ok {
			return &b[i]
		}
	}
	return nil
}

// Decision is what was decided about a pod, and why.
type Decision struct {
	// Subset the pod belongs to; empty when it belongs to none.
	Subset string
	// Booked tells that the books were changed and have to be written before the pod is let through.
	Booked bool
	// Reason in words.
	Reason string
}

// Admit finds a place for a new pod: the first subset that can be scheduled and takes more pods. The key is the
// pod's final name, or what stands for it in the books; named tells which. A pod that is made anew under its name gets
// back the place it left, if nobody took it. Books are changed in place.
func (b Books) Admit(key string, named bool, now time.Time) Decision {
	renewed := false
	if named {
		if entry := b.creating(key); entry != nil {
			return Decision{Subset: entry.Name, Reason: "the pod is in the books already"}
		}
		if entry := b.deleting(key); entry != nil {
			delete(entry.DeletingPods, key)
			if renewed = true; available(entry) && entry.MissingReplicas > 0 {
				return take(entry, key, now, "the pod is made anew")
			}
		}
	}
	for i := range b {
		switch entry := &b[i]; {
		case !available(entry):
		case entry.MissingReplicas == Unlimited:
			return Decision{Subset: entry.Name, Booked: renewed, Reason: "the subset takes any number of pods"}
		case entry.MissingReplicas > 0:
			return take(entry, key, now, "the subset takes more pods")
		}
	}
	return Decision{Booked: renewed, Reason: "no subset takes more pods"}
}

func available(entry *appsv1beta1.WorkloadSpreadSubsetStatus) bool {
	return !meta.IsStatusConditionFalse(entry.Conditions, appsv1beta1.WorkloadSpreadSubsetSchedulable)
}

func take(entry *appsv1beta1.WorkloadSpreadSubsetStatus, key string, now time.Time, reason string) Decision {
	entry.MissingReplicas--
	if entry.CreatingPods == nil {
		entry.CreatingPods = map[string]metav1.Time{}
	}
	entry.CreatingPods[key] = metav1.NewTime(now)
	return Decision{Subset: entry.Name, Booked: true, Reason: reason}
}

// Release frees the place of a pod whose deletion is let through, seen or not: a pod that is deleted right after it was
// made would otherwise keep its place for as long as one that was never made. No place is free while more pods than
// the quota are left. Books are changed in place.
func (b Books) Release(pod *corev1.Pod, subset string, quota int32, now time.Time) Decision {
	entry := b.find(subset)
	switch {
	case entry == nil:
		return Decision{Reason: "the pod's subset is not in the books"}
	case entry.MissingReplicas == Unlimited:
		return Decision{Subset: subset, Reason: "the subset takes any number of pods"}
	case b.deleting(pod.Name) != nil:
		return Decision{Subset: subset, Reason: "the pod is in the books already"}
	}
	tooMany := entry.Replicas+underWay(entry) > quota
	delete(entry.CreatingPods, pod.Name)
	if m, ok := MatchOf(pod); ok {
		delete(entry.CreatingPods, m.UID)
	}
	if entry.DeletingPods == nil {
		entry.DeletingPods = map[string]metav1.Time{}
	}
	entry.DeletingPods[pod.Name] = metav1.NewTime(now)
	if tooMany {
		return Decision{Subset: subset, Booked: true, Reason: "the pod leaves its subset, which has too many"}
	}
	entry.MissingReplicas++
	return Decision{Subset: subset, Booked: true, Reason: "the pod leaves its subset"}
}

// AdmitOrdinal finds the place of a pod of a StatefulSet by its number alone, without books: the first subsets take
// the lowest. The books given are those over all versions, read for their conditions. Percentages count as 0.
func AdmitOrdinal(subsets []appsv1beta1.WorkloadSpreadSubset, overall Books, pod string) Decision {
	number, upTo := ordinal(pod), int64(0)
	for i := range subsets {
		if entry := overall.find(subsets[i].Name); entry != nil && !available(entry) {
			continue
		}
		switch most := subsets[i].MaxReplicas; {
		case most == nil:
			upTo = math.MaxInt64
		case most.Type == intstr.Int:
			upTo += int64(most.IntVal)
		}
		if number < upTo {
			return Decision{Subset: subsets[i].Name, Reason: "the pod's number is within the subset's"}
		}
	}
	return Decision{Reason: "the pod's number is beyond all subsets"}
}

// ordinal is the number that a name ends in, -1 when it ends in none.
func ordinal(name string) int64 {
	start := len(name)
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' {
		start--
	}
	n, err := strconv.ParseInt(name[start:], 10, 32)
	if err != nil {
		return -1
	}
	return n
}
