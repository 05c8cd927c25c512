// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// hostnameTopology is the topology key whose domains are single nodes.
const hostnameTopology = "kubernetes.io/hostname"

// Topology ranks pods by how crowded their nodes and domains are.
type Topology struct {
	// Constraints of the pod template; none means that only pods on the same node are told apart.
	Constraints []corev1.TopologySpreadConstraint
	// NodeLabels returns the labels of a node, false when it is not known.
	NodeLabels func(node string) (map[string]string, bool)
}

// ScaleDownOrder sorts the candidates (indexes into all) so that the pods to remove come first.
func ScaleDownOrder(all []Pod, candidates []int, t Topology) []int {
	ranks := t.ranks(all, candidates)
	return sorted(all, candidates, ranks)
}

func sorted(all []Pod, candidates []int, ranks map[int]float64) []int {
	out := slices.Clone(candidates)
	slices.SortStableFunc(out, func(a, b int) int {
		return compareScaleDown(&all[a], &all[b], ranks[a], ranks[b])
	})
	return out
}

func (t Topology) ranks(all []Pod, candidates []int) map[int]float64 {
	if len(t.Constraints) == 0 || t.NodeLabels == nil {
		return sameNodeRanks(all, candidates)
	}
	ranks := map[int]float64{}
	for i := range t.Constraints {
		t.addSpreadRanks(ranks, all, candidates, t.Constraints[i].TopologyKey)
	}
	return ranks
}

// sameNodeRanks gives the pods that share a node n-1 … 0, the one to remove first the highest.
func sameNodeRanks(all []Pod, candidates []int) map[int]float64 {
	byNode := map[string][]int{}
	for _, at := range candidates {
		if node := all[at].Spec.NodeName; node != "" {
			byNode[node] = append(byNode[node], at)
		}
	}
	ranks := map[int]float64{}
	for _, group := range byNode {
		if len(group) < 2 {
			continue
		}
		for i, at := range sorted(all, group, nil) {
			ranks[at] = float64(len(group) - 1 - i)
		}
	}
	return ranks
}

// addSpreadRanks ranks the pods of each domain of one constraint, weighted as the scheduler weighs
// the number of domains.
func (t Topology) addSpreadRanks(ranks map[int]float64, all []Pod, candidates []int, key string) {
	byDomain := map[string][]int{}
	for _, at := range candidates {
		labels, ok := t.NodeLabels(all[at].Spec.NodeName)
		if !ok {
			continue
		}
		if domain, ok := labels[key]; ok {
			byDomain[domain] = append(byDomain[domain], at)
		}
	}
	weight := math.Log(float64(len(byDomain) + 2))
	for _, group := range byDomain {
		var within map[int]float64
		if key != hostnameTopology {
			within = sameNodeRanks(all, group)
		}
		for i, at := range sorted(all, group, within) {
			ranks[at] += float64(len(group)-i) * weight
		}
	}
}
