// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// looselyOverlap says whether two selectors are taken to select the same pods: they look at the same keys, and
// for each key there is a value, or the absence of one, that pleases both. Selectors of different keys may
// have pods in common as well, which is let pass.
func looselyOverlap(a, b *metav1.LabelSelector) bool {
	mine, theirs := byKey(a), byKey(b)
	if len(mine) != len(theirs) {
		return false
	}
	for key, one := range mine {
		other, found := theirs[key]
		if !found || !(compatible(one, other) || compatible(other, one)) {
			return false
		}
	}
	return true
}

// byKey returns what a selector wants of each key; matchLabels stand above matchExpressions.
func byKey(selector *metav1.LabelSelector) map[string]metav1.LabelSelectorRequirement {
	out := map[string]metav1.LabelSelectorRequirement{}
	for _, requirement := range selector.MatchExpressions {
		out[requirement.Key] = requirement
	}
	for key, value := range selector.MatchLabels {
		out[key] = metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}
	}
	return out
}

// compatible says whether a label can please both requirements. It need be asked both ways round.
func compatible(a, b metav1.LabelSelectorRequirement) bool {
	switch a.Operator {
	case metav1.LabelSelectorOpIn:
		switch b.Operator {
		case metav1.LabelSelectorOpIn:
			return slices.ContainsFunc(a.Values, func(value string) bool { return slices.Contains(b.Values, value) })
		case metav1.LabelSelectorOpNotIn:
			return slices.ContainsFunc(a.Values, func(value string) bool { return !slices.Contains(b.Values, value) })
		case metav1.LabelSelectorOpExists:
			return true
		case metav1.LabelSelectorOpDoesNotExist:
			return false
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		return b.Operator == a.Operator || b.Operator == metav1.LabelSelectorOpNotIn
	case metav1.LabelSelectorOpNotIn:
		return b.Operator == metav1.LabelSelectorOpNotIn
	}
	return false
}
