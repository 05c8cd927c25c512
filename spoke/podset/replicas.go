// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Reasons of waits that Replicas gives.
const (
	// WaitScaleUpLimited: creating more pods would exceed scaleStrategy.maxUnavailable.
	WaitScaleUpLimited = "ScaleUpLimited"
	// WaitDeletions: pods are leaving already, who else must go is decided when they are gone.
	WaitDeletions = "DeletionsRunning"
	// WaitMaxUnavailable: maxUnavailable is used up.
	WaitMaxUnavailable = "MaxUnavailableReached"
	// WaitPartition: the partition keeps the remaining pods at the old revision.
	WaitPartition = "PartitionReached"
	// WaitClaims: claims to be used again belong to pods that are not gone yet.
	WaitClaims = "ClaimsInUse"
	// WaitPriority: the priority strategy cannot be read.
	WaitPriority = "InvalidPriorityStrategy"
)

// Replicas are a number of anonymous, interchangeable pods.
type Replicas struct {
	Budget rollout.Budget
	// Specified are names of pods to delete, beside those labelled so.
	Specified []string
	// Awaited are names of terminating or finished pods whose claims a successor is to use: one pod
	// less is created for each of them.
	Awaited  []string
	Ordering rollout.Ordering
	// SpreadConstraints of the pod template, for choosing victims.
	SpreadConstraints []corev1.TopologySpreadConstraint
	// PreparingUpdateIsUpdated counts a pod that prepares for its update as updated when scaling.
	PreparingUpdateIsUpdated bool
}

// Scale creates what is missing, else deletes who was named and who is too many.
func (r *Replicas) Scale(v *View) Scale {
	r.markSpecified(v)
	var out Scale
	if out.Revive = r.revivable(v); len(out.Revive) > 0 {
		return out
	}
	diff := r.diff(v)
	if diff.ScaleUp > 0 {
		out.Create = r.creations(v, diff)
		if held := min(len(r.Awaited), len(out.Create)); held > 0 {
			out.Create = out.Create[:len(out.Create)-held]
			out.Waits = append(out.Waits, Wait{Reason: WaitClaims, Message: "claims to be used again belong to pods that are not gone yet", Pods: r.Awaited})
		}
		if diff.ScaleUp > diff.ScaleUpLimit {
			out.Waits = append(out.Waits, Wait{Reason: WaitScaleUpLimited, Pods: unavailable(v.Active), Message: fmt.Sprintf(
				"scaleStrategy.maxUnavailable lets %s be unavailable: creating %d of %d", podsOf(r.Budget.CreateLimit), diff.ScaleUpLimit, diff.ScaleUp)})
		}
	}
	// When nothing may be created now, pods that are leaving must not have to wait for that: they
	// may be what uses the limit up.
	if len(out.Create) == 0 {
		r.remove(v, diff, &out)
	}
	return out
}

func (r *Replicas) markSpecified(v *View) {
	for _, name := range r.Specified {
		if at, ok := slices.BinarySearchFunc(v.Active, name, func(p rollout.Pod, n string) int {
			return strings.Compare(p.Name, n)
		}); ok {
			v.Active[at].Specified = true
		}
	}
}

// diff counts for scaling, where a pod that prepares for its update may count as updated.
func (r *Replicas) diff(v *View) rollout.Diff {
	if !r.PreparingUpdateIsUpdated {
		return rollout.Compute(v.Active, r.Budget)
	}
	counted := slices.Clone(v.Active)
	for i := range counted {
		if pods.LifecycleState(counted[i].Pod) == appsv1beta1.LifecycleStatePreparingUpdate {
			counted[i].Updated = true
		}
	}
	return rollout.Compute(counted, r.Budget)
}

// revivable are the pods whose deletion is no longer needed.
func (r *Replicas) revivable(v *View) []int {
	if marksNotReady(v.Rules.Lifecycle) {
		return nil
	}
	missing := r.Budget.Replicas - len(v.Active)
	var waiting []int
	for i := range v.Active {
		p := &v.Active[i]
		if p.Specified || p.PreparingDelete {
			missing++
		}
		if p.PreparingDelete && !p.Specified {
			waiting = append(waiting, i)
		}
	}
	return waiting[:min(max(missing, 0), len(waiting))]
}

func marksNotReady(l *appsv1beta1.Lifecycle) bool {
	return l != nil && (l.PreDelete != nil && l.PreDelete.MarkPodNotReady ||
		l.InPlaceUpdate != nil && l.InPlaceUpdate.MarkPodNotReady)
}

// mostCreations bounds the pods one pass asks for; the next pass asks for the next. However many replicas somebody
// wants, a pass stays short and a wish taken back is noticed.
const mostCreations = 500

// creations makes pods at the current revision first, the rest at the update revision.
func (r *Replicas) creations(v *View, d rollout.Diff) []Create {
	n := min(d.ScaleUpLimit, mostCreations)
	out := make([]Create, 0, n)
	old := min(d.ScaleUpLimit, d.ScaleUpOld)
	for i := range n {
		revision, reason := v.Update, fmt.Sprintf("%d of %d pods exist", len(v.Active), r.Budget.Replicas)
		if i < old && v.Current != nil {
			revision = v.Current
		}
		if d.UseSurge > 0 {
			reason += fmt.Sprintf(", %d more may surge", d.UseSurge)
		}
		out = append(out, Create{Revision: revision, Reason: reason})
	}
	return out
}

// remove takes away who was named and who is too many, within what may become unavailable.
func (r *Replicas) remove(v *View, d rollout.Diff, out *Scale) {
	limit := readyLimit{ready: d.DeleteReadyLimit, available: v.available() - (r.Budget.Replicas - r.Budget.MaxUnavailable)}
	var leaving, held []string
	surplus := d.ScaleDown
	for i := range v.Active {
		p := &v.Active[i]
		switch {
		case p.PreparingDelete:
			leaving = append(leaving, p.Name)
			if !r.Budget.ExcludePreparingDelete {
				surplus-- // counted in ScaleDown
			}
			out.Remove = append(out.Remove, Removal{At: i, Reason: "its deletion was begun"})
		case p.Specified:
			leaving = append(leaving, p.Name)
			if !limit.take(p) {
				held = append(held, p.Name)
				continue
			}
			out.Remove = append(out.Remove, Removal{At: i, Reason: "its deletion was asked for"})
		}
	}
	if surplus > 0 {
		if len(leaving) > 0 {
			out.Waits = append(out.Waits, Wait{Reason: WaitDeletions, Message: fmt.Sprintf("%s more to go: which is decided when those leaving are gone", podsOf(surplus)), Pods: leaving})
		} else {
			held = append(held, r.removeSurplus(v, d, &limit, out)...)
		}
	}
	if len(held) > 0 {
		out.Waits = append(out.Waits, Wait{Reason: WaitMaxUnavailable, Pods: held, Message: fmt.Sprintf(
			"%s: ready pods to be deleted stay", r.usedUp(v))})
	}
}

func (r *Replicas) removeSurplus(v *View, d rollout.Diff, limit *readyLimit, out *Scale) (held []string) {
	victims, instead := r.victims(v, d)
	for _, at := range victims {
		if !limit.take(&v.Active[at]) {
			if len(instead) == 0 {
				held = append(held, v.Active[at].Name)
				continue
			}
			at, instead = instead[0], instead[1:]
		}
		out.Remove = append(out.Remove, Removal{At: at, Reason: fmt.Sprintf("%d pods too many", d.ScaleDown)})
	}
	return held
}

// victims are the pods too many: old ones first as far as the partition says, each side ranked. Where ready ones may not
// go while updates are held, new pods that are not ready go instead: they are what is left of a surge. (While updates
// go on that would delete each new pod before it gets ready.)
func (r *Replicas) victims(v *View, d rollout.Diff) (victims, instead []int) {
	var fresh, old []int
	for i := range v.Active {
		if v.Active[i].Updated {
			fresh = append(fresh, i)
		} else {
			old = append(old, i)
		}
	}
	topology := rollout.Topology{Constraints: r.SpreadConstraints, NodeLabels: v.NodeLabels}
	old, fresh = rollout.ScaleDownOrder(v.Active, old, topology), rollout.ScaleDownOrder(v.Active, fresh, topology)
	fromOld := min(d.ScaleDown, d.ScaleDownOld, len(old))
	fromFresh := min(d.ScaleDown-min(d.ScaleDown, d.ScaleDownOld), len(fresh))
	if v.Rules.Update.Hold != nil {
		instead = slices.DeleteFunc(slices.Clone(fresh[fromFresh:]), func(at int) bool { return v.Active[at].Ready })
	}
	return append(slices.Clone(old[:fromOld]), fresh[:fromFresh]...), instead
}

// readyLimit counts down how many ready pods, and how many available ones, may go. Pods that are
// not ready always may.
type readyLimit struct{ ready, available int }

func (l *readyLimit) take(p *rollout.Pod) bool {
	switch {
	case !p.Ready:
		return true
	case l.ready <= 0, p.Available && l.available <= 0:
		return false
	}
	l.ready--
	if p.Available {
		l.available--
	}
	return true
}

// usedUp says what uses maxUnavailable up, in numbers and with the names of up to three pods.
func (r *Replicas) usedUp(v *View) string {
	const named = 3
	names := unavailable(v.Active)
	text := fmt.Sprintf("maxUnavailable %d is used up: %s wanted, %d there, %d of them unavailable",
		r.Budget.MaxUnavailable, podsOf(r.Budget.Replicas), len(v.Active), len(names))
	switch n := len(names); {
	case n == 0:
		return text
	case n <= named:
		return text + " (" + strings.Join(names, ", ") + ")"
	default:
		return fmt.Sprintf("%s (%s and %d more)", text, strings.Join(names[:named], ", "), n-named)
	}
}

// podsOf says how many pods, for people to read.
func podsOf(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
