// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// How long the books keep a pod that was let in and not seen, one that was let go and still lives, and a subset
// whose pods found no node.
const (
	CreatingFor      = 30 * time.Second
	DeletingFor      = 15 * time.Second
	UnschedulableFor = 300 * time.Second
)

// View is what was read of the pods of one version, or of all.
type View struct {
	Subsets  []appsv1beta1.WorkloadSpreadSubset
	Replicas int32
	// Groups are the pods by subset, as Group returns them.
	Groups map[string][]*corev1.Pod
	// Old are the books as they were.
	Old Books
	// Critical is how long a pod may be unschedulable before its subset is avoided; 0 means for ever.
	Critical time.Duration
	Now      time.Time
}

// Notice is something worth an event.
type Notice struct {
	Reason, Subset, Pod string
}

// Settlement is what the books say after a look at the pods.
type Settlement struct {
	Books   Books
	Notices []Notice
	// Late are the pods that should be made anew in another subset.
	Late []*corev1.Pod
	// Recheck is when time alone changes the books next; 0 means never.
	Recheck time.Duration
}

// Settle counts the pods of each subset anew. It is an error when a quota cannot be told; nothing is settled then.
func Settle(v View) (Settlement, error) {
	out := Settlement{Books: make(Books, 0, len(v.Subsets))}
	for i := range v.Subsets {
		quota, err := Quota(v.Subsets[i].MaxReplicas, v.Replicas)
		if err != nil {
			return Settlement{}, err
		}
		old := appsv1beta1.WorkloadSpreadSubsetStatus{}
		if entry := v.Old.find(v.Subsets[i].Name); entry != nil {
			old = *entry.DeepCopy()
		}
		entry := appsv1beta1.WorkloadSpreadSubsetStatus{Name: v.Subsets[i].Name, Conditions: old.Conditions}
		members := v.Groups[entry.Name]
		let := out.count(&entry, old, members, v.Now)
		let += out.await(&entry, old, members, v.Now)
		entry.MissingReplicas = left(quota, entry.Replicas, let)
		out.judge(&entry, members, i == len(v.Subsets)-1, v)
		out.Books = append(out.Books, entry)
	}
	return out, nil
}

// left is how much of a quota is left, when so many pods more (or less, if negative) are under way.
func left(quota, active, more int32) int32 {
	if quota == Unlimited {
		return Unlimited
	}
	return min(quota, max(0, quota-active-more))
}

// count counts the active pods, and returns as a negative number how many of them are let go.
func (s *Settlement) count(entry *appsv1beta1.WorkloadSpreadSubsetStatus, old appsv1beta1.WorkloadSpreadSubsetStatus, members []*corev1.Pod, now time.Time) int32 {
	leaving := int32(0)
	for _, pod := range members {
		if !pods.IsActive(pod) {
			continue
		}
		entry.Replicas++
		since, ok := old.DeletingPods[pod.Name]
		if !ok {
			continue
		}
		wait := since.Add(DeletingFor).Sub(now)
		if wait < 0 {
			s.Notices = append(s.Notices, Notice{appsv1beta1.WorkloadSpreadEventDeletePodFailed, entry.Name, pod.Name})
			continue
		}
		s.recheck(wait)
		if entry.DeletingPods == nil {
			entry.DeletingPods = map[string]metav1.Time{}
		}
		entry.DeletingPods[pod.Name] = since
		leaving--
	}
	return leaving
}

// await keeps the pods that were let in and not seen yet, and returns how many they are.
func (s *Settlement) await(entry *appsv1beta1.WorkloadSpreadSubsetStatus, old appsv1beta1.WorkloadSpreadSubsetStatus, members []*corev1.Pod, now time.Time) int32 {
	for _, pod := range members {
		delete(old.CreatingPods, pod.Name)
		if m, ok := MatchOf(pod); ok {
			delete(old.CreatingPods, m.UID)
		}
	}
	for key, since := range old.CreatingPods {
		wait := since.Add(CreatingFor).Sub(now)
		if wait < 0 {
			s.Notices = append(s.Notices, Notice{appsv1beta1.WorkloadSpreadEventCreatePodFailed, entry.Name, key})
			delete(old.CreatingPods, key)
			continue
		}
		s.recheck(wait)
	}
	if len(old.CreatingPods) > 0 {
		entry.CreatingPods = old.CreatingPods
	}
	return int32(len(entry.CreatingPods)) //nolint:gosec // bounded by quotas
}

// judge tells whether pods of the subset find nodes.
func (s *Settlement) judge(entry *appsv1beta1.WorkloadSpreadSubsetStatus, members []*corev1.Pod, last bool, v View) {
	if v.Critical <= 0 {
		meta.RemoveStatusCondition(&entry.Conditions, appsv1beta1.WorkloadSpreadSubsetSchedulable)
		return
	}
	late := !last && s.stuck(members, v) // from the last there is no other place to go to
	condition := metav1.Condition{Type: appsv1beta1.WorkloadSpreadSubsetSchedulable, Status: metav1.ConditionTrue, Reason: appsv1beta1.WorkloadSpreadReasonSufficient, LastTransitionTime: metav1.NewTime(v.Now)}
	old := meta.FindStatusCondition(entry.Conditions, appsv1beta1.WorkloadSpreadSubsetSchedulable)
	switch avoided := old != nil && old.Status == metav1.ConditionFalse && !last; {
	case late:
		condition.Status, condition.Reason = metav1.ConditionFalse, appsv1beta1.WorkloadSpreadReasonPodUnschedulable
	case avoided && v.Now.Before(old.LastTransitionTime.Add(UnschedulableFor)):
		s.recheck(old.LastTransitionTime.Add(UnschedulableFor).Sub(v.Now))
		return
	case avoided:
		s.Notices = append(s.Notices, Notice{Reason: appsv1beta1.WorkloadSpreadEventRecoverSchedulable, Subset: entry.Name})
	}
	meta.SetStatusCondition(&entry.Conditions, condition)
}

// stuck tells whether pods were unschedulable for too long, and notes which.
func (s *Settlement) stuck(members []*corev1.Pod, v View) bool {
	before := len(s.Late)
	for _, pod := range members {
		late, wait := pods.UnschedulableFor(pod, v.Critical, v.Now)
		if late {
			s.Late = append(s.Late, pod)
		}
		if wait > 0 {
			s.recheck(wait)
		}
	}
	return len(s.Late) > before
}

// recheck asks to be called again after a while. An entry is forgotten only when its time is over, so a wait that is
// just over asks for one more look.
func (s *Settlement) recheck(wait time.Duration) {
	if wait < 0 {
		return
	}
	if wait++; s.Recheck == 0 || wait < s.Recheck {
		s.Recheck = wait
	}
}
