// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	corev1 "k8s.io/api/core/v1"
)

// Pod is one active pod with the facts that decide about it.
type Pod struct {
	*corev1.Pod
	// Updated says that the pod has the update revision.
	Updated bool
	// Superseded says that it has neither the update nor the current revision.
	Superseded bool
	// Available says that it has been ready for long enough with no lifecycle step under way.
	Available bool
	// Ready is Available without the waiting time.
	Ready bool
	// PreparingDelete says that it waits for its preDelete hook.
	PreparingDelete bool
	// Specified says that somebody asked for its deletion.
	Specified bool
}

// Diff is how the pods there are differ from the pods there should be.
type Diff struct {
	// ScaleUp is how many pods are missing, ScaleUpOld how many of those at the old revision (it
	// may exceed ScaleUp), ScaleUpLimit how many may be created now.
	ScaleUp, ScaleUpOld, ScaleUpLimit int
	// ScaleDown is how many pods are too many, ScaleDownOld how many of those are old.
	ScaleDown, ScaleDownOld int
	// DeleteReadyLimit is how many ready pods may be deleted now.
	DeleteReadyLimit int
	// UseSurge is how many pods above replicas are wanted now, UseSurgeOld how many of those old.
	UseSurge, UseSurgeOld int
	// UpdateNum is how many pods to move to the update revision; negative: back to the current one.
	UpdateNum int
	// UpdateMaxUnavailable is how many pods may be unavailable while that is done; it may be negative.
	UpdateMaxUnavailable int
}

// side counts the pods of one revision side.
type side struct {
	all, active, toDelete, unavailable, preparingDelete int
}

func count(pods []Pod, updated bool) side {
	var s side
	for i := range pods {
		p := &pods[i]
		if p.Updated != updated {
			continue
		}
		s.all++
		if p.PreparingDelete {
			s.preparingDelete++
			continue
		}
		s.active++
		switch {
		case p.Specified:
			s.toDelete++
		case !p.Available:
			s.unavailable++
		}
	}
	return s
}

// Compute compares the pods with the budget.
func Compute(pods []Pod, b Budget) Diff {
	fresh, old := count(pods, true), count(pods, false)
	unavailable := fresh.preparingDelete + old.preparingDelete + fresh.unavailable + old.unavailable
	oldDiff := old.active - b.Partition
	newDiff := fresh.active - (b.Replicas - b.Partition)
	if b.SameRevision || !b.Rollback {
		oldDiff, newDiff = max(oldDiff, 0), min(newDiff, 0)
	}
	var d Diff
	d.useSurge(b.MaxSurge, surgeForDeletions(fresh, old, unavailable-b.MaxUnavailable), surgeForUpdate(oldDiff, newDiff))

	total, totalOld := fresh.all+old.all, old.all
	if b.ExcludePreparingDelete {
		total -= fresh.preparingDelete + old.preparingDelete
		totalOld -= old.preparingDelete
	}
	expected, expectedOld := b.Replicas+d.UseSurge, b.Partition+d.UseSurgeOld
	toDelete := fresh.toDelete + old.toDelete
	if d.ScaleUp = max(0, expected-total); d.ScaleUp > 0 {
		d.ScaleUpOld = max(0, expectedOld-totalOld)
		d.ScaleUpLimit = min(d.ScaleUp, max(0, b.CreateLimit-unavailable))
	}
	if d.ScaleDown = max(0, total-toDelete-expected); d.ScaleDown > 0 {
		d.ScaleDownOld = max(0, totalOld-old.toDelete-expectedOld)
	}
	if toDelete > 0 || d.ScaleDown > 0 {
		d.DeleteReadyLimit = max(0, b.MaxUnavailable+len(pods)-b.Replicas-unavailable)
	}
	d.UpdateNum = toMove(oldDiff, newDiff)
	if d.UpdateNum != 0 {
		d.UpdateMaxUnavailable = b.MaxUnavailable + len(pods) - b.Replicas
	}
	return d
}

// toMove is how many pods change sides: as many as one side has too many of and the other too few. Pods that both
// sides lack, or have too many of, are made or deleted, and nobody moves for them.
func toMove(oldDiff, newDiff int) int {
	switch {
	case oldDiff < 0 && newDiff < 0, oldDiff > 0 && newDiff > 0:
		return 0
	case abs(oldDiff) <= abs(newDiff):
		return oldDiff
	default:
		return -newDiff
	}
}

// need is how many pods above replicas are wanted, and how many of them at the old revision.
type need struct{ pods, old int }

// useSurge takes the greatest need that maxSurge allows; of equal ones the first.
func (d *Diff) useSurge(maxSurge int, needs ...need) {
	for _, n := range needs {
		if pods := min(n.pods, maxSurge); pods > d.UseSurge {
			d.UseSurge, d.UseSurgeOld = pods, min(n.old, pods)
		}
	}
}

// surgeForDeletions makes room for pods that are to be deleted, as far as they do not fit in what may
// be unavailable; excess is by how many more than allowed are unavailable already.
func surgeForDeletions(fresh, old side, excess int) need {
	toDelete := fresh.toDelete + old.toDelete
	pods := min(max(excess+toDelete, 0), toDelete)
	return need{pods, max(0, pods-fresh.toDelete)}
}

// surgeForUpdate makes room for pods that move. Every pod that is to be replaced may stay until its
// replacement is there, so all of them count, not only those without a replacement yet: else what
// was begun would not be finished at full speed.
func surgeForUpdate(oldDiff, newDiff int) need {
	switch {
	case oldDiff > 0 && newDiff < 0:
		return need{pods: oldDiff}
	case oldDiff < 0 && newDiff > 0:
		// Pods go back: the room is for old ones.
		return need{newDiff, newDiff}
	default:
		return need{}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
