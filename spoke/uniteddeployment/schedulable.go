// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

const (
	// defaultCritical and defaultUnschedulable are the times of the Adaptive schedule where it says none, in seconds.
	defaultCritical, defaultUnschedulable int32 = 30, 300
	// Reasons of a subset's condition Schedulable: pods found no node, or may try again.
	reasonReschedule, reasonRecover = "reschedule", "recover"
	// reasonCreated: the subset is new, and its pods begin in reserve.
	reasonCreated = "created"
)

// pace is how patient the Adaptive schedule is: with a pod that finds no node, and with a subset that had such.
type pace struct {
	// reserving: such pods stay where they are, as a reserve.
	reserving               bool
	critical, unschedulable time.Duration
}

// isReserving tells whether unschedulable pods are kept. With StatefulSets they never are: admission refuses that, since
// a pod that is not ready holds up those after it.
func isReserving(ud *appsv1beta1.UnitedDeployment) bool {
	strategy, template := &ud.Spec.Topology.ScheduleStrategy, &ud.Spec.Template
	return strategy.Type == appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType &&
		strategy.Adaptive != nil && strategy.Adaptive.ReserveUnschedulablePods &&
		template.StatefulSetTemplate == nil && template.AdvancedStatefulSetTemplate == nil
}

// paceOf returns nil for another schedule.
func paceOf(ud *appsv1beta1.UnitedDeployment) *pace {
	strategy := &ud.Spec.Topology.ScheduleStrategy
	if strategy.Type != appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType {
		return nil
	}
	adaptive := ptr.Deref(strategy.Adaptive, appsv1beta1.AdaptiveUnitedDeploymentStrategy{})
	return &pace{
		reserving:     isReserving(ud),
		critical:      seconds.Of(max(0, ptr.Deref(adaptive.RescheduleCriticalSeconds, defaultCritical))),
		unschedulable: seconds.Of(max(0, ptr.Deref(adaptive.UnschedulableDuration, defaultUnschedulable))),
	}
}

// verdict is whether a subset takes pods.
type verdict struct {
	unschedulable bool
	// late pods found no node in time.
	late int
	// set are the states of condition Schedulable that it goes through, the last one to stay.
	set []appsv1beta1.Condition
	// recheck is when time alone may change the verdict; 0: not.
	recheck time.Duration
	// marked: the pass before found it unschedulable.
	marked bool

	// The rest is for schedules with a reserve.
	reserving bool
	// reserved pods are there, missing ones are yet to be made and begin in reserve, overdue ones are of the reserved.
	reserved, missing, overdue int32
	// labels are those to change.
	labels []labelling
}

// judge decides from the condition before and the pods. A subset that is found unschedulable stays so for a while; then
// it is tried again, and judged by the pods it has.
func judge(before *appsv1beta1.Condition, live *liveSubset, p *pace, now time.Time) verdict {
	v := verdict{}
	if v.marked = before != nil && before.Status == corev1.ConditionFalse; v.marked {
		if rest := before.LastTransitionTime.Add(p.unschedulable).Sub(now); rest > 0 {
			return verdict{unschedulable: true, marked: true, recheck: rest}
		}
		v.set = append(v.set, appsv1beta1.Condition{Type: appsv1beta1.UnitedDeploymentSubsetSchedulable, Status: corev1.ConditionTrue, Reason: reasonRecover})
	}
	if live.readyReplicas >= live.statusReplicas {
		return v
	}
	for _, pod := range live.pods {
		late, wait := pods.UnschedulableFor(pod, p.critical, now)
		if late {
			v.late++
		}
		v.recheck = steps.Sooner(v.recheck, wait)
	}
	if v.late > 0 {
		v.unschedulable, v.recheck = true, steps.Sooner(v.recheck, p.unschedulable)
		v.set = append(v.set, isFalse(appsv1beta1.UnitedDeploymentSubsetSchedulable, reasonReschedule,
			fmt.Sprintf("%d pods found no node within %s: the subset keeps what is ready and its minimum for %s", v.late, p.critical, p.unschedulable)))
	}
	return v
}

// judgeAll judges the subsets that have a workload, and with a reserve those that are new to it; nil for another schedule.
func judgeAll(s *snapshot, kept map[string]liveSubset) map[string]verdict {
	p := paceOf(s.ud)
	if p == nil {
		return nil
	}
	out := map[string]verdict{}
	for i := range s.ud.Spec.Topology.Subsets {
		name := s.ud.Spec.Topology.Subsets[i].Name
		live, exists := kept[name]
		if mark := created(s, name); mark != nil && p.reserving && !exists {
			out[name] = verdict{reserving: true, marked: true, set: []appsv1beta1.Condition{*mark}}
		}
		if !exists {
			continue
		}
		var before *appsv1beta1.Condition
		if e := entry(&s.ud.Status, name); e != nil {
			before = conditions.FindCompat(e.Conditions, appsv1beta1.UnitedDeploymentSubsetSchedulable)
		}
		if !p.reserving {
			out[name] = judge(before, &live, p, s.now)
			continue
		}
		v := judgeReserve(before, &live, rolloutOf(s, name), p, s.now)
		v.reserving = true
		out[name] = v
	}
	return out
}
