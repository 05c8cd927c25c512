// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"math"
	"slices"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// scatter spreads the pods of each term over the order. Totals are counted over all pods, so that
// those updated already are made up for.
func scatter(all []Pod, order []int, terms appsv1beta1.UpdateScatterStrategy) []int {
	for _, term := range effectiveTerms(all, order, terms) {
		order = scatterOne(all, order, term)
	}
	return order
}

// effectiveTerms keeps, of several terms, those that match a waiting pod, most matches first.
func effectiveTerms(all []Pod, order []int, terms appsv1beta1.UpdateScatterStrategy) []appsv1beta1.UpdateScatterTerm {
	if len(terms) <= 1 {
		return terms
	}
	matches := map[appsv1beta1.UpdateScatterTerm]int{}
	for _, term := range terms {
		for _, at := range order {
			if has(&all[at], term) {
				matches[term]++
			}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(terms), func(t appsv1beta1.UpdateScatterTerm) bool { return matches[t] == 0 })
	slices.SortStableFunc(kept, func(a, b appsv1beta1.UpdateScatterTerm) int {
		return cmp.Compare(matches[b], matches[a])
	})
	return kept
}

func has(p *Pod, term appsv1beta1.UpdateScatterTerm) bool {
	value, ok := p.Labels[term.Key]
	return ok && value == term.Value
}

func scatterOne(all []Pod, order []int, term appsv1beta1.UpdateScatterTerm) []int {
	var matched, unmatched []int
	for _, at := range order {
		if has(&all[at], term) {
			matched = append(matched, at)
		} else {
			unmatched = append(unmatched, at)
		}
	}
	if len(matched) <= 1 || len(unmatched) <= 1 {
		return order
	}
	totalMatched, totalUnmatched := 0, 0
	for i := range all {
		if has(&all[i], term) {
			totalMatched++
		} else {
			totalUnmatched++
		}
	}
	last := matched[len(matched)-1]
	matched = matched[:len(matched)-1]
	totalMatched--

	plan := planGroups(len(matched), len(unmatched), totalMatched, totalUnmatched)
	out := take(nil, &unmatched, plan.remainder)
	for range plan.groups {
		out = take(out, &matched, plan.matched)
		out = take(out, &unmatched, plan.unmatched)
	}
	out = take(out, &matched, len(matched))
	out = take(out, &unmatched, len(unmatched))
	return append(out, last)
}

// take moves up to n indexes from the front of *from to the end of out.
func take(out []int, from *[]int, n int) []int {
	n = min(max(n, 0), len(*from))
	out = append(out, (*from)[:n]...)
	*from = (*from)[n:]
	return out
}

// groupPlan is how matched and unmatched pods alternate.
type groupPlan struct {
	groups, matched, unmatched, remainder int
}

// planGroups spreads the waiting pods by themselves, unless among all pods the unmatched are rarer
// than among the waiting ones: then the sizes of all pods are kept and the surplus goes first.
func planGroups(matched, unmatched, totalMatched, totalUnmatched int) groupPlan {
	waiting := ratio(matched, unmatched)
	// totalUnmatched/totalMatched >= unmatched/matched without dividing.
	if totalUnmatched*matched >= unmatched*totalMatched {
		return waiting
	}
	plan := ratio(totalMatched, totalUnmatched)
	plan.groups = min(matched/plan.matched, unmatched/plan.unmatched)
	plan.remainder = unmatched - plan.groups*plan.unmatched
	return plan
}

func ratio(matched, unmatched int) groupPlan {
	groups := min(matched, unmatched)
	return groupPlan{
		groups:    groups,
		matched:   int(math.Round(float64(matched) / float64(groups))),
		unmatched: int(math.Round(float64(unmatched) / float64(groups))),
	}
}
