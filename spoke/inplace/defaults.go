// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// withoutDefaults leaves out the differences that are none once the defaults of templates are filled in: one of
// the templates was stored while the webhook which fills them in was away.
func withoutDefaults(differences []difference, from, to *corev1.PodTemplateSpec) ([]difference, error) {
	if !slices.ContainsFunc(differences, difference.oneSided) {
		return differences, nil
	}
	old, err := filled(from)
	if err != nil {
		return nil, err
	}
	wanted, err := filled(to)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(differences, func(d difference) bool {
		was, had := at(old, d.path)
		is, has := at(wanted, d.path)
		return d.oneSided() && had && has && reflect.DeepEqual(was, is)
	}), nil
}

// oneSided tells whether only one of the trees has something there.
func (d difference) oneSided() bool { return d.kind != replaced }

// filled is a template with its defaults, as JSON.
func filled(template *corev1.PodTemplateSpec) (any, error) {
	whole := template.DeepCopy()
	podtemplate.Default(whole, podtemplate.Options{})
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return tree, nil
}

// at finds what a tree has at a path.
func at(tree any, path []string) (any, bool) {
	for _, key := range path {
		switch node := tree.(type) {
		case map[string]any:
			next, found := node[key]
			if !found {
				return nil, false
			}
			tree = next
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index < 0 || index >= len(node) {
				return nil, false
			}
			tree = node[index]
		default:
			return nil, false
		}
	}
	return tree, true
}
