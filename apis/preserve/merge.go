// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package preserve

import "reflect"

// differences returns the parts in which two trees differ, of each tree. Lists are parts as a whole.
func differences(base, full map[string]any) (map[string]any, map[string]any) {
	inBase, inFull := map[string]any{}, map[string]any{}
	for key := range keysOf(base, full) {
		b, hasB := base[key]
		f, hasF := full[key]
		if hasB && hasF && reflect.DeepEqual(b, f) {
			continue
		}
		mapB, isMapB := b.(map[string]any)
		mapF, isMapF := f.(map[string]any)
		if isMapB && isMapF {
			inBase[key], inFull[key] = differences(mapB, mapF)
			continue
		}
		if hasB {
			inBase[key] = b
		}
		if hasF {
			inFull[key] = f
		}
	}
	return inBase, inFull
}

// mergeMaps returns now with the parts of full where now still is as in base.
func mergeMaps(base, full, now map[string]any) map[string]any {
	out := make(map[string]any, len(now))
	for key, value := range now {
		out[key] = value
	}
	for key := range keysOf(base, full) {
		b := part{base, key}
		f := part{full, key}
		n := part{now, key}
		if value, found := merge(b, f, n); found {
			out[key] = value
		} else {
			delete(out, key)
		}
	}
	return out
}

// part is one key of a map, which may be absent.
type part struct {
	of  map[string]any
	key string
}

func (p part) get() (any, bool) {
	value, found := p.of[p.key]
	return value, found
}

func merge(base, full, now part) (any, bool) {
	b, hasB := base.get()
	f, hasF := full.get()
	n, hasN := now.get()
	mapB, isMapB := b.(map[string]any)
	mapF, isMapF := f.(map[string]any)
	if isMapB && isMapF {
		if mapN, isMapN := n.(map[string]any); isMapN {
			return mergeMaps(mapB, mapF, mapN), true
		}
		return n, hasN
	}
	if hasB == hasN && reflect.DeepEqual(b, n) {
		return f, hasF
	}
	listB, isListB := b.([]any)
	listF, isListF := f.([]any)
	listN, isListN := n.([]any)
	if isListB && isListF && isListN && len(listB) == len(listF) {
		return mergeLists(listB, listF, listN), true
	}
	return n, hasN
}

// mostMoved is the longest list whose elements are looked for at other places.
const mostMoved = 500

// mergeLists finds for each element of now the one of base that it is: an equal one, first at the same
// place, then anywhere; else, where the list is as long as it was, the one at its place. What is found in
// full beside that one is given.
func mergeLists(base, full, now []any) []any {
	pairs := pairsOf(base, now)
	out := make([]any, len(now))
	for i := range now {
		out[i] = now[i]
		if j, found := pairs[i]; found {
			out[i] = mergeElements(base[j], full[j], now[i])
		}
	}
	return out
}

// pairsOf says which element of base each element of now is, by their places.
func pairsOf(base, now []any) map[int]int {
	pairs, taken := map[int]int{}, map[int]bool{}
	pair := func(i, j int) { pairs[i], taken[j] = j, true }
	for i := range min(len(base), len(now)) {
		if reflect.DeepEqual(now[i], base[i]) {
			pair(i, i)
		}
	}
	for i := range now {
		if _, found := pairs[i]; !found && len(base) <= mostMoved {
			if j := indexOf(base, now[i], taken); j >= 0 {
				pair(i, j)
			}
		}
	}
	for i := range now {
		if _, found := pairs[i]; !found && len(now) == len(base) && !taken[i] {
			pair(i, i)
		}
	}
	return pairs
}

// indexOf finds an equal element that is not taken, or -1.
func indexOf(list []any, element any, taken map[int]bool) int {
	for j := range list {
		if !taken[j] && reflect.DeepEqual(element, list[j]) {
			return j
		}
	}
	return -1
}

func mergeElements(base, full, now any) any {
	const key = "element"
	as := func(value any) part { return part{map[string]any{key: value}, key} }
	value, _ := merge(as(base), as(full), as(now))
	return value
}

func keysOf(a, b map[string]any) map[string]bool {
	keys := make(map[string]bool, len(a)+len(b))
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}
