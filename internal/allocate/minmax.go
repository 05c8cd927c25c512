// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"fmt"
	"math"
)

// Bounds are the replicas a subset gets at least and at most.
type Bounds struct {
	Name     string
	Min, Max int32
}

// BoundsOf reads the bounds of the subsets. An unset minimum is 0, an unset maximum
// math.MaxInt32; percentages are of total, a nil total counting as 0. It returns an error that
// names the subset when a number cannot be read or the minimum is above the maximum.
func BoundsOf(total *int32, subsets []Subset) ([]Bounds, error) {
	of := known(total)
	out := make([]Bounds, 0, len(subsets))
	for _, s := range subsets {
		low, err := parseOptional(&of, s.Min, 0)
		if err != nil {
			return nil, fmt.Errorf("subset %s: minReplicas: %w", s.Name, err)
		}
		high, err := parseOptional(&of, s.Max, math.MaxInt32)
		if err != nil {
			return nil, fmt.Errorf("subset %s: maxReplicas: %w", s.Name, err)
		}
		if low > high {
			return nil, fmt.Errorf("subset %s: minReplicas is %d, maxReplicas is %d", s.Name, low, high)
		}
		out = append(out, Bounds{Name: s.Name, Min: low, Max: high})
	}
	return out, nil
}

// MinMax gives each subset its minimum in list order, then fills each to its maximum in list order.
func MinMax(total *int32, subsets []Subset) (Result, error) {
	bounds, err := BoundsOf(total, subsets)
	if err != nil {
		return Result{}, err
	}
	return Fill(known(total), bounds), nil
}

// Fill is MinMax for bounds already known. A maximum below the minimum adds nothing to the minimum.
func Fill(total int32, bounds []Bounds) Result {
	result := Result{Replicas: make(map[string]int32, len(bounds))}
	rest := max(total, 0)
	for _, b := range bounds {
		n := min(b.Min, rest)
		result.Replicas[b.Name] = n
		rest -= n
	}
	for _, b := range bounds {
		n := min(max(b.Max-b.Min, 0), rest)
		result.Replicas[b.Name] += n
		rest -= n
	}
	result.Unplaced = rest
	return result
}

func byCurrent(a, b Subset) int {
	return cmp.Or(cmp.Compare(a.Current, b.Current), cmp.Compare(a.Name, b.Name))
}
