// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Subset is what the rules need to know of one subset.
type Subset struct {
	// Name is unique in the list.
	Name string
	// Replicas, Min and Max are numbers or percentages, as in the UnitedDeployment; nil is unset.
	Replicas, Min, Max *intstr.IntOrString
	// Current is how many replicas the subset's workload asks for now; 0 when there is none.
	Current int32
	// State is what Adaptive and Reserve look at.
	State State
}

// Result is who gets how many.
type Result struct {
	// Replicas has one entry for each subset.
	Replicas map[string]int32
	// Unplaced is how many replicas found no place because of maxima.
	Unplaced int32
	// Reduced says, for people, that the fixed numbers add up to more than the total and in what way
	// they were cut; "" when they were not.
	Reduced string
	// Notes name subsets whose numbers cannot be read and count as unset.
	Notes []string
}

// ErrTooFew is in the error for subsets which all say replicas that add up to less than the total.
var ErrTooFew = errors.New("the replicas of all subsets add up to less than spec.replicas")

// ErrNoTotal is in the error for an unknown total while some subset leaves replicas open.
var ErrNoTotal = errors.New("spec.replicas is not set and not every subset says replicas")

// Fixed shares total out by the rule the subsets ask for: MinMax when any has a minimum or maximum,
// else Specific. A nil total is unknown.
func Fixed(total *int32, subsets []Subset) (Result, error) {
	if slices.ContainsFunc(subsets, func(s Subset) bool { return s.Min != nil || s.Max != nil }) {
		return MinMax(total, subsets)
	}
	return Specific(total, subsets)
}

// Specific gives the subsets that say replicas what they say and shares the rest evenly among the
// others. When they say more than the total, they are served in list order as far as the total
// goes, so that an autoscaler may go below the sum. When they all say and it is less than the
// total, it returns an error: sizes stay as they are.
func Specific(total *int32, subsets []Subset) (Result, error) {
	result := Result{Replicas: make(map[string]int32, len(subsets))}
	said, open := specified(total, subsets, &result)
	if total == nil {
		if len(open) > 0 {
			return Result{}, ErrNoTotal
		}
		return result, nil
	}
	switch rest := int64(*total) - said; {
	case rest < 0:
		cut(*total, subsets, &result)
		result.Reduced = fmt.Sprintf("subsets ask for %d replicas, spec.replicas is %d: served in list order", said, *total)
	case len(open) > 0:
		shareRest(int32(rest), open, result.Replicas)
	case rest > 0 && len(subsets) > 0:
		return Result{}, fmt.Errorf("%w: %d of %d", ErrTooFew, said, *total)
	case rest > 0:
		result.Unplaced = int32(rest)
	}
	return result, nil
}

// specified enters the subsets that say replicas into result and returns their sum and the others.
func specified(total *int32, subsets []Subset, result *Result) (sum int64, open []Subset) {
	for _, s := range subsets {
		n, err := parseOptional(total, s.Replicas, -1)
		if err != nil {
			result.Notes = append(result.Notes, fmt.Sprintf("subset %s: replicas: %v", s.Name, err))
		}
		if err != nil || n < 0 {
			open = append(open, s)
			result.Replicas[s.Name] = 0
			continue
		}
		result.Replicas[s.Name] = n
		sum += int64(n)
	}
	return sum, open
}

// cut lowers the numbers so that they add up to total, serving subsets in list order.
func cut(total int32, subsets []Subset, result *Result) {
	for _, s := range subsets {
		n := min(result.Replicas[s.Name], total)
		result.Replicas[s.Name] = n
		total -= n
	}
}

// shareRest shares rest evenly; the subsets with the most replicas now get the remainder.
func shareRest(rest int32, open []Subset, out map[string]int32) {
	slices.SortFunc(open, byCurrent)
	count := int32(len(open))
	base, remainder := rest/count, rest%count
	for i, s := range open {
		out[s.Name] = base
		if int32(len(open)-i) <= remainder {
			out[s.Name]++
		}
	}
}
