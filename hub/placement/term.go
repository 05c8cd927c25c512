// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// clusterOnly are the keys that are never kept in the member's copy.
var clusterOnly = []string{fleetv1alpha1.ClusterKey, fleetv1alpha1.ProviderKey, fleetv1alpha1.ClusterSetKey}

// topology are the keys that are matched on the hub and kept in the member's copy.
var topology = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// claimed are the keys whose values come from claims, so that having none may mean that they are missing.
var claimed = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone, fleetv1alpha1.ProviderKey}

// Term is a node selector term ready to be matched against clusters.
type Term struct {
	expressions []corev1.NodeSelectorRequirement
}

// Verdict is what a term says of one cluster.
type Verdict struct {
	// Matches tells whether the cluster is eligible.
	Matches bool
	// Unknown tells that it is not only because the cluster says nothing of a key it would tell of by a
	// claim. Claims go missing for a while: what a cluster holds already should stay.
	Unknown bool
	// Why says, when it is not, which requirement fails.
	Why string
	// Member is the term for the cluster's own nodes; empty when nothing is left of it. Requirements on
	// unknown values stay in it as they are.
	Member corev1.NodeSelectorTerm
}

// Compile checks a term. It refuses what cannot be evaluated for a cluster; the error names the field
// within the term.
func Compile(term corev1.NodeSelectorTerm) (Term, error) {
	if len(term.MatchFields) > 0 {
		return Term{}, fmt.Errorf("matchFields: fields of nodes mean nothing for a fleet; use matchExpressions")
	}
	for i, e := range term.MatchExpressions {
		if !isClusterLevel(e.Key) {
			continue
		}
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(e.Values) == 0 {
				return Term{}, fmt.Errorf("matchExpressions[%d].values: operator %s of %s needs a value", i, e.Operator, e.Key)
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			return Term{}, fmt.Errorf("matchExpressions[%d].operator: %s cannot be used with %s, whose values are names", i, e.Operator, e.Key)
		default:
			return Term{}, fmt.Errorf("matchExpressions[%d].operator: %q is no operator", i, e.Operator)
		}
	}
	return Term{expressions: term.MatchExpressions}, nil
}

// Match evaluates the term for a cluster.
func (t Term) Match(c Cluster) Verdict {
	out := Verdict{Matches: true}
	for _, e := range t.expressions {
		matches, kept := true, &e
		values := c.Values(e.Key)
		if isClusterLevel(e.Key) {
			matches, kept = evaluate(e, values)
		}
		if !matches {
			why := fmt.Sprintf("%s is %s, wanted %s", e.Key, list(values), requirement(e))
			if len(values) > 0 || !slices.Contains(claimed, e.Key) {
				return Verdict{Why: why}
			}
			out.Matches, out.Unknown, out.Why, kept = false, true, why, &e
		}
		if kept != nil && !slices.Contains(clusterOnly, e.Key) {
			out.Member.MatchExpressions = append(out.Member.MatchExpressions, *kept)
		}
	}
	return out
}

// Holds tells whether a member's term, given at an earlier time, still chooses the nodes of the cluster
// that this term chooses. Then it should stay: a workload whose node affinity changes makes its pods
// anew.
func (t Term) Holds(given corev1.NodeSelectorTerm, c Cluster) bool {
	if len(given.MatchFields) > 0 || !equality.Semantic.DeepEqual(passing(t.expressions), passing(given.MatchExpressions)) {
		return false
	}
	for _, key := range topology {
		nodes := c.Values(key)
		if len(nodes) == 0 {
			nodes = []string{""}
		}
		for _, value := range nodes {
			if chooses(t.expressions, key, value) != chooses(given.MatchExpressions, key, value) {
				return false
			}
		}
	}
	return true
}

// passing are the requirements that are the member's business.
func passing(list []corev1.NodeSelectorRequirement) (out []corev1.NodeSelectorRequirement) {
	for _, e := range list {
		if !isClusterLevel(e.Key) {
			out = append(out, e)
		}
	}
	return out
}

// chooses tells whether all requirements on a key allow a node with that value; "" is no value.
func chooses(list []corev1.NodeSelectorRequirement, key, value string) bool {
	return !slices.ContainsFunc(list, func(e corev1.NodeSelectorRequirement) bool { return e.Key == key && !allows(e, value) })
}

func allows(e corev1.NodeSelectorRequirement, value string) bool {
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return slices.Contains(e.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !slices.Contains(e.Values, value)
	case corev1.NodeSelectorOpExists:
		return value != ""
	case corev1.NodeSelectorOpDoesNotExist:
		return value == ""
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		return false // Compile lets none through
	default:
		return false
	}
}

// evaluate is one row of the truth table: does a cluster with those values match, and what is left for
// the member (nil: nothing).
func evaluate(e corev1.NodeSelectorRequirement, values []string) (bool, *corev1.NodeSelectorRequirement) {
	wanted := func(v string) bool { return slices.Contains(e.Values, v) }
	both := 0
	for _, v := range values {
		if wanted(v) {
			both++
		}
	}
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		if both == len(values) {
			return both > 0, nil
		}
		narrowed := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !wanted(v) })
		return both > 0, &corev1.NodeSelectorRequirement{Key: e.Key, Operator: e.Operator, Values: narrowed}
	case corev1.NodeSelectorOpNotIn:
		if both == 0 {
			return true, nil
		}
		return both < len(values), &e
	case corev1.NodeSelectorOpExists:
		return len(values) > 0, &e
	default: // DoesNotExist: Compile lets through no other
		return len(values) == 0, &e
	}
}

func isClusterLevel(key string) bool {
	return slices.Contains(clusterOnly, key) || slices.Contains(topology, key)
}

func list(values []string) string {
	if len(values) == 0 {
		return "unknown"
	}
	return strings.Join(values, ",")
}

func requirement(e corev1.NodeSelectorRequirement) string {
	if len(e.Values) == 0 {
		return string(e.Operator)
	}
	return fmt.Sprintf("%s (%s)", e.Operator, strings.Join(e.Values, ","))
}
