// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// grouping is a GroupStrategy, parsed. Of limit and percent one is set; both 0 means one group for all.
type grouping struct {
	named   []namedGroup
	limit   int
	percent int
}

type namedGroup struct {
	name     string
	selector selector
}

func compileGrouping(strategy clusterv1beta1.GroupStrategy) (grouping, error) {
	const field = "spec.decisionStrategy.groupStrategy"
	limit, percent, err := groupLimit(strategy.ClustersPerDecisionGroup)
	if err != nil {
		return grouping{}, fmt.Errorf("%s.clustersPerDecisionGroup: %w", field, err)
	}
	out := grouping{limit: limit, percent: percent}
	for i, g := range strategy.DecisionGroups {
		at := fmt.Sprintf("%s.decisionGroups[%d].groupClusterSelector", field, i)
		s, err := compileSelector(at, g.ClusterSelector.LabelSelector, g.ClusterSelector.ClaimSelector)
		if err != nil {
			return grouping{}, err
		}
		out.named = append(out.named, namedGroup{name: g.GroupName, selector: s})
	}
	return out, nil
}

func groupLimit(v intstr.IntOrString) (limit, percent int, err error) {
	text := v.String()
	if text == "0" || text == "" {
		return 0, 0, nil
	}
	number, isPercent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || (isPercent && n > 100) {
		return 0, 0, fmt.Errorf("%q is neither a count of at least 1 nor a percentage of 1%% to 100%%", text)
	}
	if isPercent {
		return 0, n, nil
	}
	return n, 0, nil
}

// divide puts each cluster into the first named group that wants it, the others
// behind, and cuts groups at the size allowed. It gives at least one group.
func (g grouping) divide(clusters []*clusterv1.ManagedCluster) []Group {
	size := g.size(len(clusters))
	rest := slices.Clone(clusters)
	var groups []Group
	for _, named := range g.named {
		var taken []string
		rest = slices.DeleteFunc(rest, func(c *clusterv1.ManagedCluster) bool {
			if named.selector.matches(c) {
				taken = append(taken, c.Name)
				return true
			}
			return false
		})
		groups = appendChunks(groups, named.name, taken, size)
	}
	left := make([]string, 0, len(rest))
	for _, c := range rest {
		left = append(left, c.Name)
	}
	groups = appendChunks(groups, "", left, size)
	if len(groups) == 0 {
		return []Group{{}}
	}
	return groups
}

// size is how many clusters a group may hold when total are selected, at least 1.
func (g grouping) size(total int) int {
	switch {
	case g.limit > 0:
		return g.limit
	case g.percent > 0:
		return max(1, (total*g.percent+99)/100)
	default:
		return max(1, total)
	}
}

func appendChunks(groups []Group, name string, clusters []string, size int) []Group {
	for chunk := range slices.Chunk(clusters, size) {
		groups = append(groups, Group{Name: name, Clusters: chunk})
	}
	return groups
}
