// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// row is one rule: edits that keep an object sound (no want), or that break it and the complaints they
// give, each as "field: part of the message".
type row struct {
	edits []string
	want  []string
}

// good is a row that passes, bad one that fails with one complaint.
func good(edits ...string) row             { return row{edits: edits} }
func bad(want string, edits ...string) row { return row{edits: edits, want: []string{want}} }

// runRows edits the base object and compares complaints.
func runRows[T any](t *testing.T, base string, validate func(*T) field.ErrorList, rows map[string]row) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			compare(t, validate(edited[T](t, base, r.edits...)), r.want)
		})
	}
}

// compare wants these complaints and no others, each with a message that says what to do.
func compare(t *testing.T, got field.ErrorList, want []string) {
	t.Helper()
	var lines []string
	for i, problem := range got {
		line := problem.Error()
		if i < len(want) {
			name, part, _ := strings.Cut(want[i], ": ")
			if problem.Field == name && strings.Contains(line, part) {
				line = want[i]
			}
		}
		lines = append(lines, line)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
}

// edited returns the base object with edits applied: "a.b[0].c: value" sets, "a.b:" takes out.
func edited[T any](t *testing.T, base string, edits ...string) *T {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(base), &tree); err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		path, text, found := strings.Cut(edit, ":")
		if !found {
			t.Fatalf("edit %q has no value", edit)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%s: %v", edit, err)
		}
		tree = put(tree, steps.FindAllString(path, -1), value)
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := yaml.UnmarshalStrict(text, out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

var steps = regexp.MustCompile(`[^.\[\]]+`)

// put returns the tree with one value set; nil takes a key out, an index past the end appends.
func put(tree any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if index, err := strconv.Atoi(path[0]); err == nil {
		list, _ := tree.([]any)
		if index >= len(list) {
			return append(list, put(nil, path[1:], value))
		}
		list[index] = put(list[index], path[1:], value)
		return list
	}
	object, _ := tree.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	if len(path) == 1 && value == nil {
		delete(object, path[0])
		return object
	}
	object[path[0]] = put(object[path[0]], path[1:], value)
	return object
}

func equalObjects(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
