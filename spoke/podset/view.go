// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Look judges the snapshot's pods. soonest is when the next pod becomes available by time alone, 0
// when none will.
func Look(s *Snapshot, r *Rules) (v *View, soonest time.Duration) {
	v = &View{Snapshot: s, Rules: r, Active: make([]rollout.Pod, 0, len(s.Pods))}
	for _, pod := range s.Pods {
		switch {
		case pod.DeletionTimestamp != nil:
			v.Terminating = append(v.Terminating, pod)
		case pods.IsFinished(pod):
			v.Finished = append(v.Finished, pod)
		default:
			judged, wait := judge(pod, s, r)
			v.Active = append(v.Active, judged)
			if wait > 0 && (soonest == 0 || wait < soonest) {
				soonest = wait
			}
		}
	}
	return v, soonest
}

func judge(pod *corev1.Pod, s *Snapshot, r *Rules) (rollout.Pod, time.Duration) {
	available, wait := pods.Availability(pod, r.MinReady, s.Now)
	revision := pods.Revision(pod)
	updated := s.Update != nil && pods.SameRevision(revision, s.Update.Name)
	return rollout.Pod{
		Pod:             pod,
		Updated:         updated,
		Superseded:      !updated && s.Current != nil && !pods.SameRevision(revision, s.Current.Name),
		Available:       available,
		Ready:           pods.IsReady(pod) && pods.IsNormal(pod),
		PreparingDelete: pods.LifecycleState(pod) == appsv1beta1.LifecycleStatePreparingDelete,
		Specified:       pods.IsSpecifiedDelete(pod),
	}, wait
}

// RevisionOf returns the revision the pod's label names, nil when it is not known.
func (s *Snapshot) RevisionOf(pod *corev1.Pod) *appsv1.ControllerRevision {
	label := pods.Revision(pod)
	for _, r := range s.Revisions {
		if pods.SameRevision(label, r.Name) {
			return r
		}
	}
	return nil
}

// available returns how many active pods are available.
func (v *View) available() int {
	n := 0
	for i := range v.Active {
		if v.Active[i].Available {
			n++
		}
	}
	return n
}
