// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// asideAnnotation of a webhook configuration holds, as a JSON list, the entries that were taken out because
// their feature gate is off. The keeper writes and reads it.
//
// It holds those entries alone, not all of them as they were installed, because what is installed changes
// under it: each apply of the manifests, server-side or client-side, brings the entries that are missing back,
// leaves an annotation alone that is not in the manifests, and is then the newest word on every entry that is
// live. So an entry that came back replaces the one set aside under its name, an entry that is live is never
// overwritten by an older one, and one that is neither live nor gated off does not exist. List and annotation
// change in one patch, made for the version that was read: an entry is always in exactly one of them.
const asideAnnotation = "internal.kruise.io/gated-off-webhooks"

// sorted is a configuration's entries: which are live, and which are set aside.
type sorted struct{ live, aside []any }

// sortOut decides where each entry belongs. off tells which paths are gated off, and known which are served at
// all: an entry is put back only for those.
func sortOut(now sorted, off, known func(path string) bool) sorted {
	var out sorted
	for _, hook := range now.live {
		if off(pathOfHook(hook)) {
			out.aside = append(out.aside, hook)
		} else {
			out.live = append(out.live, hook)
		}
	}
	for _, hook := range now.aside {
		same := func(other any) bool { return nameOfHook(other) == nameOfHook(hook) }
		path := pathOfHook(hook)
		switch {
		case slices.ContainsFunc(now.live, same):
		case off(path):
			out.aside = append(out.aside, hook)
		case known(path):
			out.live = append(out.live, hook)
		}
	}
	slices.SortStableFunc(out.aside, func(a, b any) int { return strings.Compare(nameOfHook(a), nameOfHook(b)) })
	return out
}

// entriesOf reads the entries of a configuration.
func entriesOf(cfg *unstructured.Unstructured) (sorted, error) {
	var out sorted
	var err error
	if out.live, _, err = unstructured.NestedSlice(cfg.Object, "webhooks"); err != nil {
		return out, err
	}
	text := cfg.GetAnnotations()[asideAnnotation]
	if text == "" {
		return out, nil
	}
	holder := unstructured.Unstructured{} // its decoder makes numbers what they are in a live object
	if err := holder.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Aside","webhooks":` + text + `}`)); err != nil {
		return out, fmt.Errorf("annotation %s: %w", asideAnnotation, err)
	}
	out.aside, _, err = unstructured.NestedSlice(holder.Object, "webhooks")
	return out, err
}

// asideText is the annotation's value; nil takes the annotation off.
func (s sorted) asideText() (any, error) {
	if len(s.aside) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(s.aside)
	return string(text), err
}

func sameNames(a, b []any) bool {
	return slices.EqualFunc(a, b, func(x, y any) bool { return nameOfHook(x) == nameOfHook(y) })
}

func nameOfHook(hook any) string {
	fields, _ := hook.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

func pathOfHook(hook any) string {
	fields, _ := hook.(map[string]any)
	clientConfig, _ := fields["clientConfig"].(map[string]any)
	return pathOf(clientConfig)
}
