// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// maxDifferences bounds how many fields a conflict names.
const maxDifferences = 5

// claim is whether a slice may have an object that is there.
type claim int

const (
	// claimOurs: the object carries the slice's label.
	claimOurs claim = iota
	// claimFree: it may be taken over as it is.
	claimFree
	// claimIfEqual: it may be taken over if that would change nothing but numbers.
	claimIfEqual
	// claimDenied: it may not be taken over.
	claimDenied
)

// claimOf decides by the label of the object and the slice's policy. exists tells whether the hub has
// the slice of that label. The text says why the object is denied.
func claimOf(slice *fleetv1alpha1.FleetSlice, live *unstructured.Unstructured, exists func(label string) bool) (claim, string) {
	label := live.GetLabels()[fleetv1alpha1.SliceLabel]
	switch {
	case label == slice.Name:
		return claimOurs, ""
	case label != "" && exists(label):
		return claimDenied, fmt.Sprintf("%s belongs to slice %s", describe(live), label)
	case slice.Spec.Adoption == fleetv1alpha1.AdoptionAlways:
		return claimFree, ""
	case slice.Spec.Adoption == fleetv1alpha1.AdoptionNever:
		return claimDenied, describe(live) + " is there already, is not the fleet's, and adoption is Never"
	default:
		return claimIfEqual, ""
	}
}

// differences names the fields, apart from metadata, status and numbers, in which the two objects
// differ.
func differences(live, applied *unstructured.Unstructured) []string {
	a, b := comparable(live), comparable(applied)
	var out []string
	compare("", a, b, &out)
	return out
}

func comparable(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	withoutNumbers(out)
	for _, field := range []string{"metadata", "status", "apiVersion", "kind"} {
		delete(out.Object, field)
	}
	return out.Object
}

// compare collects the paths of differing fields. An absent field equals one that is empty.
func compare(path string, a, b any, out *[]string) {
	left, right, maps := bothMaps(a, b)
	if maps {
		compareMaps(path, left, right, out)
		return
	}
	listA, isListA := a.([]any)
	listB, isListB := b.([]any)
	if isListA && isListB && len(listA) == len(listB) {
		for i := range listA {
			compare(fmt.Sprintf("%s[%d]", path, i), listA[i], listB[i], out)
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		*out = append(*out, path)
	}
}

// bothMaps reads both as maps; nil is an empty one.
func bothMaps(a, b any) (left, right map[string]any, ok bool) {
	left, isA := a.(map[string]any)
	right, isB := b.(map[string]any)
	return left, right, (isA || a == nil) && (isB || b == nil)
}

func compareMaps(path string, left, right map[string]any, out *[]string) {
	keys := map[string]bool{}
	for key := range left {
		keys[key] = true
	}
	for key := range right {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		compare(strings.TrimPrefix(path+"."+key, "."), left[key], right[key], out)
	}
}

// conflictText says which fields keep an object from being adopted.
func conflictText(live *unstructured.Unstructured, fields []string) string {
	more := ""
	if len(fields) > maxDifferences {
		more = fmt.Sprintf(" and %d more", len(fields)-maxDifferences)
		fields = fields[:maxDifferences]
	}
	return fmt.Sprintf("%s is there already, is not the fleet's, and differs in %s%s", describe(live), strings.Join(fields, ", "), more)
}
