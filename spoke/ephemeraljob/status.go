// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// settle derives phase, conditions and end from the counters.
func settle(s *v1alpha1.EphemeralJobStatus, job *v1alpha1.EphemeralJob, late bool, now time.Time) {
	if s.Failed > 0 {
		set(s, v1alpha1.EJobFailed, v1alpha1.EphemeralJobReasonCreateFailed, fmt.Sprintf("containers failed in %d of %d pods", s.Failed, s.Matches), now)
	} else {
		unset(s, v1alpha1.EJobFailed)
	}
	s.Phase = phaseOf(s, job)
	if s.Phase == v1alpha1.EphemeralJobError {
		set(s, v1alpha1.EJobError, "NoContainers", "spec.template.ephemeralContainers is empty: name at least one container", now)
	}
	if s.Matches > 0 {
		unset(s, v1alpha1.EJobMatchedEmpty)
	} else if s.Phase == v1alpha1.EphemeralJobWaiting {
		set(s, v1alpha1.EJobMatchedEmpty, v1alpha1.EphemeralJobReasonMatchEmpty, "job match no pods", now)
	}
	if late && open(s.Phase) {
		s.Phase = v1alpha1.EphemeralJobFailed
		set(s, v1alpha1.EJobFailed, v1alpha1.EphemeralJobReasonDeadlineExceeded,
			fmt.Sprintf("not done after %d seconds (spec.activeDeadlineSeconds)", *job.Spec.ActiveDeadlineSeconds), now)
	}
	switch s.Phase {
	case v1alpha1.EphemeralJobSucceeded:
		set(s, v1alpha1.EJobSucceeded, "", "", now)
		s.CompletionTime = &metav1.Time{Time: now}
	case v1alpha1.EphemeralJobFailed:
		s.CompletionTime = &metav1.Time{Time: now}
	default: // goes on
	}
}

// open are the phases that a deadline ends.
func open(phase v1alpha1.EphemeralJobPhase) bool {
	return phase == v1alpha1.EphemeralJobWaiting || phase == v1alpha1.EphemeralJobUnknown || phase == v1alpha1.EphemeralJobRunning
}

func phaseOf(s *v1alpha1.EphemeralJobStatus, job *v1alpha1.EphemeralJob) v1alpha1.EphemeralJobPhase {
	all := s.Matches
	if job.Spec.Replicas != nil {
		all = *job.Spec.Replicas
	}
	switch {
	case len(job.Spec.Template.EphemeralContainers) == 0:
		return v1alpha1.EphemeralJobError
	case job.Spec.Paused:
		return v1alpha1.EphemeralJobPaused
	case s.Matches == 0:
		return v1alpha1.EphemeralJobWaiting
	case s.Succeeded == all:
		return v1alpha1.EphemeralJobSucceeded
	case s.Succeeded+s.Failed == all:
		return v1alpha1.EphemeralJobFailed
	case s.Running > 0:
		return v1alpha1.EphemeralJobRunning
	case s.Waiting == all:
		return v1alpha1.EphemeralJobWaiting
	default:
		return v1alpha1.EphemeralJobUnknown
	}
}

// set makes a condition True; its times change only with what it says.
func set(s *v1alpha1.EphemeralJobStatus, kind v1alpha1.EphemeralJobConditionType, reason, message string, now time.Time) {
	at := metav1.Time{Time: now}
	c := v1alpha1.EphemeralJobCondition{Type: kind, Status: corev1.ConditionTrue, LastProbeTime: at, LastTransitionTime: at, Reason: reason, Message: message}
	for i := range s.Conditions {
		old := &s.Conditions[i]
		if old.Type != kind {
			continue
		}
		if old.Status == corev1.ConditionTrue {
			c.LastTransitionTime = old.LastTransitionTime
		}
		if old.Status != c.Status || old.Reason != reason || old.Message != message {
			*old = c
		}
		return
	}
	s.Conditions = append(s.Conditions, c)
}

func unset(s *v1alpha1.EphemeralJobStatus, kind v1alpha1.EphemeralJobConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1alpha1.EphemeralJobCondition) bool { return c.Type == kind })
}
