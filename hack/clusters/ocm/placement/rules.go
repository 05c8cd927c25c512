// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
)

// rules are a Placement's spec, parsed.
type rules struct {
	predicates []selector
	grouping   grouping
	// unwritable means that decisions could not even carry the Placement's name as a label.
	unwritable bool
}

// selector matches a cluster by its labels and its claims; both must match.
type selector struct {
	labels, claims labels.Selector
}

// compile parses a Placement; the error names the field and what is wrong with it.
func compile(p *clusterv1beta1.Placement) (rules, error) {
	if problems := validation.IsValidLabelValue(p.Name); len(problems) > 0 {
		return rules{unwritable: true}, fmt.Errorf("metadata.name: decisions carry it as a label: %s", strings.Join(problems, "; "))
	}
	var out rules
	for i, predicate := range p.Spec.Predicates {
		field := fmt.Sprintf("spec.predicates[%d].requiredClusterSelector", i)
		required := predicate.RequiredClusterSelector
		if len(required.CelSelector.CelExpressions) > 0 {
			return rules{}, fmt.Errorf("%s.celSelector: CEL is not supported by this stand-in", field)
		}
		s, err := compileSelector(field, required.LabelSelector, required.ClaimSelector)
		if err != nil {
			return rules{}, err
		}
		out.predicates = append(out.predicates, s)
	}
	if err := checkPrioritizers(p.Spec.PrioritizerPolicy); err != nil {
		return rules{}, err
	}
	var err error
	out.grouping, err = compileGrouping(p.Spec.DecisionStrategy.GroupStrategy)
	return out, err
}

func compileSelector(field string, byLabel metav1.LabelSelector, byClaim clusterv1beta1.ClusterClaimSelector) (selector, error) {
	onLabels, err := metav1.LabelSelectorAsSelector(&byLabel)
	if err != nil {
		return selector{}, fmt.Errorf("%s.labelSelector: %w", field, err)
	}
	onClaims, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: byClaim.MatchExpressions})
	if err != nil {
		return selector{}, fmt.Errorf("%s.claimSelector: %w", field, err)
	}
	return selector{labels: onLabels, claims: onClaims}, nil
}

func checkPrioritizers(policy clusterv1beta1.PrioritizerPolicy) error {
	for i, c := range policy.Configurations {
		field := fmt.Sprintf("spec.prioritizerPolicy.configurations[%d].scoreCoordinate", i)
		switch {
		case c.ScoreCoordinate == nil:
			return fmt.Errorf("%s: is missing", field)
		case c.ScoreCoordinate.Type == clusterv1beta1.ScoreCoordinateTypeAddOn:
			return fmt.Errorf("%s: add-on scores are not supported by this stand-in", field)
		case c.ScoreCoordinate.BuiltIn != "Balance" && c.ScoreCoordinate.BuiltIn != "Steady":
			return fmt.Errorf("%s.builtIn: %q is not supported by this stand-in", field, c.ScoreCoordinate.BuiltIn)
		}
	}
	return nil
}

// selects says whether one predicate matches; without predicates every cluster does.
func (r rules) selects(c *clusterv1.ManagedCluster) bool {
	for _, s := range r.predicates {
		if s.matches(c) {
			return true
		}
	}
	return len(r.predicates) == 0
}

func (s selector) matches(c *clusterv1.ManagedCluster) bool {
	return s.labels.Matches(labels.Set(c.Labels)) && s.claims.Matches(claimsOf(c))
}

func claimsOf(c *clusterv1.ManagedCluster) labels.Set {
	claims := labels.Set{}
	for _, claim := range c.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	return claims
}
