// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import "math"

// State is how a subset fares with the Adaptive schedule. The zero value is of one that can take pods.
type State struct {
	// Exists: there is a workload for it.
	Exists bool
	// Unschedulable: it has pods now that find no node, or did a short while ago.
	Unschedulable bool
	// Marked: it was unschedulable in the pass before. Of it no more is credited than it holds (Reserve).
	Marked bool
	// Ready is how many of its pods are ready, Reserved how many do not count as pods of the workload (Reserve).
	Ready, Reserved int32
}

// Adaptive is MinMax that moves replicas away from subsets which cannot schedule them: such a one keeps what is ready,
// and its minimum. Pods that are ready stay where they are while the total allows it.
func Adaptive(total *int32, subsets []Subset) (Result, error) {
	bounds, err := BoundsOf(total, subsets)
	if err != nil {
		return Result{}, err
	}
	for i := range bounds {
		b, state := &bounds[i], subsets[i].State
		switch {
		case state.Unschedulable && state.Exists:
			b.Min, b.Max = max(state.Ready, b.Min), min(state.Ready, b.Max)
		case !state.Unschedulable && state.Ready > b.Min:
			b.Min = min(state.Ready, b.Max)
		}
	}
	return Fill(known(total), bounds), nil
}

// Reserve is MinMax that leaves pods which find no node where they are, as a reserve, and gives later subsets as many
// more in their place: the sum is above the total by that much. It ends when the total is credited; a subset that is or
// was unschedulable is credited with no more than it holds beside its reserve.
func Reserve(total *int32, subsets []Subset) (Result, error) {
	bounds, err := BoundsOf(total, subsets)
	if err != nil {
		return Result{}, err
	}
	result := Result{Replicas: make(map[string]int32, len(subsets))}
	rest := known(total)
	records := make([]record, len(subsets))
	for i := range subsets {
		records[i] = recordOf(&subsets[i])
		rest -= records[i].raise(bounds[i].Min, rest)
	}
	for i := range subsets {
		to := bounds[i].Max
		if state := subsets[i].State; state.Exists && state.Unschedulable {
			to = subsets[i].Current // it never grows
		}
		rest -= records[i].raise(to, rest)
		result.Replicas[subsets[i].Name] = records[i].replicas
	}
	result.Unplaced = rest
	return result, nil
}

// record is what a subset has been given.
type record struct {
	replicas int32
	// credit is how much of what it is given yet counts as placed; below 0 by what did not.
	credit int64
}

func recordOf(s *Subset) record {
	if !s.State.Exists || !s.State.Unschedulable && !s.State.Marked {
		return record{credit: math.MaxInt64}
	}
	return record{credit: int64(s.Current) - int64(s.State.Reserved)}
}

// raise gives the subset up to so many replicas, and returns how much of the rest is placed by that.
func (r *record) raise(to, rest int32) (placed int32) {
	more := max(0, min(to-r.replicas, rest))
	r.replicas += more
	r.credit -= int64(more)
	return int32(max(0, min(int64(more), int64(more)+r.credit))) //nolint:gosec // between 0 and more
}

func known(total *int32) int32 {
	if total == nil {
		return 0
	}
	return max(*total, 0)
}
