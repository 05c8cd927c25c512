// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wanted is what a selector wants of one key.
type wanted struct {
	values []string // one of them, when restricted
	not    []string // none of them

	restricted, exists, absent bool
}

// overlap says whether two selectors may match the same labels, as OpenKruise judges: a selector that wants a
// key to exist, whatever its value, is taken not to meet one that says nothing of the key.
func overlap(a, b *metav1.LabelSelector) bool {
	wantA, wantB := wantedOf(a), wantedOf(b)
	return !apart(wantA, wantB) && !apart(wantB, wantA)
}

func wantedOf(selector *metav1.LabelSelector) map[string]wanted {
	out := map[string]wanted{}
	for key, value := range selector.MatchLabels {
		out[key] = wanted{values: []string{value}, restricted: true}
	}
	for _, requirement := range selector.MatchExpressions {
		of := out[requirement.Key]
		switch requirement.Operator {
		case metav1.LabelSelectorOpIn:
			if of.restricted {
				of.values = both(of.values, requirement.Values)
			} else {
				of.values, of.restricted = requirement.Values, true
			}
		case metav1.LabelSelectorOpNotIn:
			of.not = append(slices.Clone(of.not), requirement.Values...)
		case metav1.LabelSelectorOpExists:
			of.exists = true
		case metav1.LabelSelectorOpDoesNotExist:
			of.absent = true
		}
		out[requirement.Key] = of
	}
	return out
}

// apart says whether what a wants of some key can never be what b wants.
func apart(a, b map[string]wanted) bool {
	for key, mine := range a {
		theirs, named := b[key]
		if !named && mine.exists && !mine.restricted || mine.absent && (theirs.restricted || theirs.exists) {
			return true
		}
		if theirs.restricted && mine.excludes(theirs.values) {
			return true
		}
	}
	return false
}

// excludes says whether none of the values is wanted.
func (w wanted) excludes(values []string) bool {
	if w.restricted && len(both(w.values, values)) == 0 {
		return true
	}
	return len(w.not) > 0 && len(both(values, w.not)) == len(values)
}

func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(value string) bool { return !slices.Contains(b, value) })
}
