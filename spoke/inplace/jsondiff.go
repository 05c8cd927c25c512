// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// kind of a difference between two JSON trees, after RFC 6902.
type kind int

const (
	added kind = iota
	removed
	replaced
)

// difference is one operation that leads from an old tree to a new one.
type difference struct {
	kind  kind
	path  []string
	value any
}

// diffTrees lists what differs, maps key by key in order and lists index by index.
func diffTrees(path []string, from, to any) []difference {
	if fromMap, ok := from.(map[string]any); ok {
		if toMap, ok := to.(map[string]any); ok {
			return diffMaps(path, fromMap, toMap)
		}
	}
	if fromList, ok := from.([]any); ok {
		if toList, ok := to.([]any); ok {
			return diffLists(path, fromList, toList)
		}
	}
	if reflect.DeepEqual(from, to) {
		return nil
	}
	return []difference{{replaced, path, to}}
}

func diffMaps(path []string, from, to map[string]any) []difference {
	keys := maps.Clone(from)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, to)
	var out []difference
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		here := append(slices.Clip(path), key)
		was, had := from[key]
		is, has := to[key]
		// Null and absent mean the same in a Kubernetes object.
		had, has = had && was != nil, has && is != nil
		switch {
		case had && has:
			out = append(out, diffTrees(here, was, is)...)
		case has:
			out = append(out, difference{added, here, is})
		case had:
			out = append(out, difference{removed, here, nil})
		}
	}
	return out
}

func diffLists(path []string, from, to []any) []difference {
	var out []difference
	for i := range max(len(from), len(to)) {
		here := append(slices.Clip(path), strconv.Itoa(i))
		switch {
		case i >= len(from):
			out = append(out, difference{added, here, to[i]})
		case i >= len(to):
			out = append(out, difference{removed, here, nil})
		default:
			out = append(out, diffTrees(here, from[i], to[i])...)
		}
	}
	return out
}
