// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Move is what finding the revision of a template takes.
type Move int

const (
	// Reuse takes an existing revision as it is.
	Reuse Move = iota
	// Promote takes an older existing revision and gives it the highest number: a rollback.
	Promote
	// Create makes a new revision.
	Create
)

// Decision tells how to get at the wanted revision.
type Decision struct {
	Move Move
	// Existing is the revision to take for Reuse and Promote.
	Existing *appsv1.ControllerRevision
	// Number for Promote and Create.
	Number int64
}

// Sync finds the candidate among a workload's revisions. The order of existing does not matter.
func Sync(existing []*appsv1.ControllerRevision, candidate *appsv1.ControllerRevision) Decision {
	sorted := Sorted(existing)
	if len(sorted) == 0 {
		return Decision{Move: Create, Number: 1}
	}
	newest := sorted[len(sorted)-1]
	next := newest.Revision + 1
	for i := len(sorted) - 1; i >= 0; i-- {
		if !Equal(sorted[i], candidate) {
			continue
		}
		if sorted[i] == newest {
			return Decision{Move: Reuse, Existing: newest}
		}
		return Decision{Move: Promote, Existing: sorted[i], Number: next}
	}
	return Decision{Move: Create, Number: next}
}

// Sorted returns the revisions oldest first: by number, then age, then name.
func Sorted(list []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	out := slices.Clone(list)
	slices.SortFunc(out, compare)
	return out
}

func compare(a, b *appsv1.ControllerRevision) int {
	switch {
	case a.Revision != b.Revision:
		return sign(a.Revision < b.Revision)
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return sign(a.CreationTimestamp.Before(&b.CreationTimestamp))
	case a.Name != b.Name:
		return sign(a.Name < b.Name)
	default:
		return 0
	}
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// Current returns the revision the status names, or update when there is none by that name.
func Current(existing []*appsv1.ControllerRevision, name string, update *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	for _, r := range existing {
		if r.Name == name {
			return r
		}
	}
	return update
}

// Truncate returns the revisions to delete, oldest first: those not in use beyond the newest limit
// ones. A revision is in use when a label in inUse names it, by full name or short hash.
func Truncate(existing []*appsv1.ControllerRevision, inUse []string, limit int) []*appsv1.ControllerRevision {
	live := make(map[string]bool, len(inUse))
	for _, label := range inUse {
		live[pods.ShortHash(label)] = true
	}
	var idle []*appsv1.ControllerRevision
	for _, r := range Sorted(existing) {
		if !live[pods.ShortHash(r.Name)] {
			idle = append(idle, r)
		}
	}
	if surplus := len(idle) - max(limit, 0); surplus > 0 {
		return idle[:surplus]
	}
	return nil
}
