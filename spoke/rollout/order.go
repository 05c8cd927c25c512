// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Ordering says how update candidates are sorted. The zero value is the base order.
type Ordering struct {
	Priority *appsv1beta1.UpdatePriorityStrategy
	Scatter  appsv1beta1.UpdateScatterStrategy
}

// Order sorts the candidates (indexes into all) into update order: least valuable first, then by
// priority, then scattered, then those that already prepare for the update to the front. An
// unreadable priority selector is an error.
func Order(all []Pod, candidates []int, o Ordering) ([]int, error) {
	out := slices.Clone(candidates)
	slices.SortStableFunc(out, func(a, b int) int { return compareValue(&all[a], &all[b]) })
	if err := sortByPriority(all, out, o.Priority); err != nil {
		return nil, err
	}
	out = scatter(all, out, o.Scatter)
	slices.SortStableFunc(out, func(a, b int) int {
		return falseFirst(!isPreparingUpdate(&all[a]), !isPreparingUpdate(&all[b]))
	})
	return out, nil
}

func isPreparingUpdate(p *Pod) bool {
	return pods.LifecycleState(p.Pod) == appsv1beta1.LifecycleStatePreparingUpdate
}

func sortByPriority(all []Pod, order []int, p *appsv1beta1.UpdatePriorityStrategy) error {
	switch {
	case p == nil:
		return nil
	case len(p.WeightPriority) > 0:
		return sortByWeight(all, order, p.WeightPriority)
	case len(p.OrderPriority) > 0:
		sortByOrder(all, order, p.OrderPriority)
	}
	return nil
}

func sortByWeight(all []Pod, order []int, terms []appsv1beta1.UpdatePriorityWeightTerm) error {
	weights := make(map[int]int64, len(order))
	for i := range terms {
		selector, err := metav1.LabelSelectorAsSelector(&terms[i].MatchSelector)
		if err != nil {
			return fmt.Errorf("priorityStrategy.weightPriority[%d].matchSelector: %w", i, err)
		}
		for _, at := range order {
			if selector.Matches(labels.Set(all[at].Labels)) {
				weights[at] += int64(terms[i].Weight)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	return nil
}

func sortByOrder(all []Pod, order []int, terms []appsv1beta1.UpdatePriorityOrderTerm) {
	type place struct {
		level  int
		number int64
	}
	places := make(map[int]place, len(order))
	for _, at := range order {
		places[at] = place{level: -1}
		for level := range terms {
			if value, ok := all[at].Labels[terms[level].OrderedKey]; ok {
				places[at] = place{level, trailingNumber(value)}
				break
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(places[a].level, places[b].level), cmp.Compare(places[b].number, places[a].number))
	})
}

// trailingNumber returns the integer at the end of the text, 0 when there is none.
func trailingNumber(text string) int64 {
	at := len(text)
	for at > 0 && text[at-1] >= '0' && text[at-1] <= '9' {
		at--
	}
	n, err := strconv.ParseInt(text[at:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
