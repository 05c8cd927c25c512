// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// standing is what a pod's reserved-pod label says of it.
type standing int

const (
	// unlabelled pods are new.
	unlabelled standing = iota
	// serving pods count as replicas.
	serving
	// reserved pods do not: others are substitutes for them.
	reserved
)

func standingOf(pod *corev1.Pod) standing {
	switch pod.Labels[appsv1beta1.ReservedPodLabel] {
	case "true":
		return reserved
	case "false":
		return serving
	default:
		return unlabelled
	}
}

// label is the value that says the standing.
func (s standing) label() string {
	if s == reserved {
		return "true"
	}
	return "false"
}

// observed is what decides on the next standing of an active pod.
type observed struct {
	// marked: the subset was unschedulable in the pass before.
	marked bool
	// outdated: the pod is to be of another revision, and no partition keeps it.
	outdated bool
	ready    bool
	// readyFor is how long it has been ready.
	readyFor time.Duration
	// late: it found no node in time; untilLate is when that may become so, 0: not.
	late      bool
	untilLate time.Duration
	// updating is how long the update of the subset has been under way.
	updating time.Duration
	// trouble: other pods of the subset are in reserve, which may hold its update up.
	trouble bool
}

// next is where a pod stands from now on, when that may change by time alone (0: it does not), and whether it is in
// reserve because its update is overdue.
//
//	from        observed                                                        to
//	unlabelled  the subset is marked: as reserved; else: as serving
//	reserved    of its revision, ready for unschedulableDuration                serving
//	reserved    else                                                            reserved
//	serving     outdated, not ready or held up by others, since the critical    reserved, overdue
//	serving     found no node within the critical seconds                       reserved
//	serving     else                                                            serving
func next(from standing, o *observed, p *pace) (to standing, recheck time.Duration, overdue bool) {
	switch from {
	case reserved:
		to, recheck = leaving(o, p)
		return to, recheck, false
	case unlabelled:
		if o.marked {
			to, recheck = leaving(o, p)
			return to, recheck, false
		}
	case serving:
	}
	return entering(o, p)
}

// leaving is next of a reserved pod.
func leaving(o *observed, p *pace) (standing, time.Duration) {
	switch {
	case !o.ready || o.outdated:
		return reserved, p.unschedulable
	case o.readyFor < p.unschedulable:
		return reserved, p.unschedulable - o.readyFor
	default:
		return serving, 0
	}
}

// entering is next of a pod that serves.
func entering(o *observed, p *pace) (to standing, recheck time.Duration, overdue bool) {
	if o.outdated && (!o.ready || o.trouble) {
		if o.updating > p.critical {
			return reserved, p.unschedulable, true
		}
		return serving, max(p.critical-o.updating, time.Nanosecond), false
	}
	if o.late {
		return reserved, p.unschedulable, false
	}
	return serving, o.untilLate, false
}

// labelling is a pod whose label is to change.
type labelling struct {
	pod *corev1.Pod
	to  standing
}

// rollout is what judging a subset with a reserve needs to know of the update.
type rollout struct {
	revision string
	// since is when it began.
	since time.Time
	// partition is how many pods of the subset stay at an older revision.
	partition int32
}

func rolloutOf(s *snapshot, subset string) rollout {
	r := rollout{revision: s.update, since: s.now, partition: partitionOf(s.ud, subset)}
	c := conditions.FindCompat(s.ud.Status.Conditions, appsv1beta1.UnitedDeploymentUpdated)
	if c != nil && c.Status == corev1.ConditionFalse {
		r.since = c.LastTransitionTime.Time
	}
	return r
}

// judgeReserve decides which pods of a subset are in reserve: while some are, it is unschedulable. Pods a marked subset
// has yet to make are in reserve before they are there, so that nothing is given up for them too soon.
func judgeReserve(before *appsv1beta1.Condition, live *liveSubset, r rollout, p *pace, now time.Time) verdict {
	v := verdict{marked: before != nil && before.Status == corev1.ConditionFalse}
	active := activeOf(live.pods)
	all := observed{marked: v.marked, trouble: v.marked || troubled(active, p, now), updating: now.Sub(r.since)}
	held := outdatedOf(active, r.revision) <= int(r.partition)
	for _, pod := range active {
		o := observe(pod, all, p, now)
		o.outdated = !held && pod.Labels[appsv1beta1.SubsetRevisionLabel] != r.revision
		v.count(pod, &o, p)
	}
	if v.marked {
		v.missing = max(0, live.replicas-int32(len(active))) //nolint:gosec // pods of one workload
	}
	v.unschedulable = v.reserved+v.missing > 0
	if turned := stateOfReserve(&v); !v.isStill(before, &turned) {
		v.set = append(v.set, turned)
	}
	return v
}

// count adds one active pod to the verdict.
func (v *verdict) count(pod *corev1.Pod, o *observed, p *pace) {
	from := standingOf(pod)
	to, recheck, overdue := next(from, o, p)
	v.recheck = steps.Sooner(v.recheck, recheck)
	if to != from {
		v.labels = append(v.labels, labelling{pod, to})
	}
	if to == reserved {
		v.reserved++
	}
	if overdue {
		v.overdue++
	}
}

// troubled tells whether a pod is in reserve or has to go there.
func troubled(active []*corev1.Pod, p *pace, now time.Time) bool {
	return slices.ContainsFunc(active, func(pod *corev1.Pod) bool {
		late, _ := pods.UnschedulableFor(pod, p.critical, now)
		return late || standingOf(pod) == reserved
	})
}

// stateOfReserve is the condition Schedulable that goes with a verdict.
func stateOfReserve(v *verdict) appsv1beta1.Condition {
	if !v.unschedulable {
		return appsv1beta1.Condition{Type: appsv1beta1.UnitedDeploymentSubsetSchedulable, Status: corev1.ConditionTrue, Reason: reasonReschedule}
	}
	return isFalse(appsv1beta1.UnitedDeploymentSubsetSchedulable, reasonReschedule,
		fmt.Sprintf("%d pods are in reserve until they are ready: other subsets have as many more", v.reserved))
}

// isStill tells whether the condition says already what it should. One that is False for pods yet to come stays as it is.
func (v *verdict) isStill(before, turned *appsv1beta1.Condition) bool {
	if before == nil || before.Status != turned.Status {
		return false
	}
	return v.reserved == 0 && v.missing > 0 || before.Reason == turned.Reason && before.Message == turned.Message
}

// observe adds the facts of one pod to those of all.
func observe(pod *corev1.Pod, o observed, p *pace, now time.Time) observed {
	if o.ready = pods.IsReady(pod); o.ready {
		o.readyFor = now.Sub(pods.Condition(pod, corev1.PodReady).LastTransitionTime.Time)
	}
	o.late, o.untilLate = pods.UnschedulableFor(pod, p.critical, now)
	return o
}

// activeOf leaves out pods that are finished or being deleted: they are nobody's reserve.
func activeOf(list []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range list {
		if pods.IsActive(pod) {
			out = append(out, pod)
		}
	}
	return out
}

func outdatedOf(list []*corev1.Pod, revision string) (n int) {
	for _, pod := range list {
		if pod.Labels[appsv1beta1.SubsetRevisionLabel] != revision {
			n++
		}
	}
	return n
}

// holdBack keeps subsets marked that were and are to grow: their new pods begin in reserve.
func (p *plan) holdBack(kept map[string]liveSubset) {
	for name, v := range p.verdicts {
		live, exists := kept[name]
		if exists && v.reserving && v.marked && !v.unschedulable && p.sizes[name].replicas > live.replicas {
			v.set = nil
			p.verdicts[name] = v
		}
	}
}

// budget is the maxUnavailable with which an update of the subset gets past pods in reserve; nil when the template's will do.
// own is the template's, which is never undercut.
func budget(s *snapshot, v *verdict, live *liveSubset, size sizing, own *intstr.IntOrString) *int32 {
	rolling := live.object.GetLabels()[appsv1beta1.SubsetRevisionLabel] != s.update || live.updatedReplicas < live.statusReplicas-size.partition
	if !v.reserving || !v.unschedulable || !rolling {
		return nil
	}
	n := max(1, size.replicas-live.readyReplicas+v.overdue)
	if own != nil {
		if scaled, err := intstr.GetScaledValueFromIntOrPercent(own, int(size.replicas), true); err == nil {
			n = max(n, int32(scaled)) //nolint:gosec // between 0 and replicas, or as the template has it
		}
	}
	return &n
}

// whyBudget says in what the live maxUnavailable differs from the wanted one; "" when in nothing. Where the template has
// none, a percentage is the default of the kind, and a number one that was set to get past pods in reserve.
func whyBudget(live, want *intstr.IntOrString) string {
	switch {
	case want == nil && (live == nil || live.Type == intstr.String), want != nil && live != nil && *want == *live:
		return ""
	case want == nil:
		return fmt.Sprintf("maxUnavailable %s is no longer needed", live)
	default:
		return fmt.Sprintf("maxUnavailable %s is to be %s", ptr.To(ptr.Deref(live, intstr.FromString("unset"))), want)
	}
}

// created is the mark of a subset that came to a UnitedDeployment with a reserve: its first pods begin in reserve.
func created(s *snapshot, subset string) *appsv1beta1.Condition {
	if len(s.ud.Status.SubsetStatuses) == 0 || entry(&s.ud.Status, subset) != nil {
		return nil
	}
	c := isFalse(appsv1beta1.UnitedDeploymentSubsetSchedulable, reasonCreated, "the first pods are in reserve until they are ready")
	c.LastTransitionTime = metav1.NewTime(s.now)
	return &c
}
