// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podset

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// Select picks the pods that may change their revision now.
func (r *Replicas) Select(v *View) Selection {
	diff := rollout.Compute(v.Active, r.Budget)
	out := Selection{Target: v.Update}
	if diff.UpdateNum == 0 {
		if r.Budget.Partition > 0 {
			out.Waits = r.partitionWait(v)
		}
		return out
	}
	if diff.UpdateNum < 0 {
		out.Target = v.Current
	}
	order, err := rollout.Order(v.Active, r.candidates(v, diff, out.Target), r.Ordering)
	if err != nil {
		out.Unknown, out.Waits = true, []Wait{{Reason: WaitPriority, Message: err.Error(), Failed: true}}
		return out
	}
	order = r.places(v, order, max(diff.UpdateNum, -diff.UpdateNum))
	out.Wanted = order
	picked := rollout.Pick(v.Active, order, diff)
	out.Take = picked.Take
	if picked.Blocked {
		out.Waits = []Wait{{Reason: WaitMaxUnavailable, Message: r.usedUp(v)}}
	}
	return out
}

// places cuts the order to the number of pods to move. Pods that are to be deleted anyway are on
// their way already: they fill places, else the replacement of one would be the next to be replaced.
func (r *Replicas) places(v *View, order []int, n int) []int {
	isLeaving := func(at int) bool { return v.Active[at].Specified }
	staying := slices.DeleteFunc(slices.Clone(order), isLeaving)
	n -= len(order) - len(staying)
	return staying[:min(max(n, 0), len(staying))]
}

func (r *Replicas) candidates(v *View, d rollout.Diff, target *appsv1.ControllerRevision) []int {
	var out []int
	for i := range v.Active {
		p := &v.Active[i]
		if p.Updated == (d.UpdateNum > 0) || p.PreparingDelete || waitsForSame(p.Pod, target) {
			continue
		}
		out = append(out, i)
	}
	return out
}

// waitsForSame says whether the pod's grace period runs for that very revision.
func waitsForSame(pod *corev1.Pod, target *appsv1.ControllerRevision) bool {
	if !inplace.InGrace(pod) {
		return false
	}
	grace, err := inplace.ReadGrace(pod)
	return err != nil || target == nil || pods.SameRevision(grace.Revision, target.Name)
}

// partitionWait tells what the partition does to a rollout that it lets go no further.
func (r *Replicas) partitionWait(v *View) []Wait {
	old := 0
	for i := range v.Active {
		if !v.Active[i].Updated {
			old++
		}
	}
	if old == 0 {
		return nil
	}
	message := fmt.Sprintf("partition %d keeps %s at the old revision", r.Budget.Partition, podsOf(old))
	if behind := r.Budget.Partition - old; behind > 0 && !r.Budget.Rollback && !r.Budget.SameRevision {
		message += fmt.Sprintf("; %s beyond it updated before: not moved back, as gate CloneSetPartitionRollback is off", podsOf(behind))
	}
	return []Wait{{Reason: WaitPartition, Message: message}}
}
