// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package preserve

import (
	"errors"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Each row: what would have come back, the original, what came back, and what is made of it.
func TestMerge(t *testing.T) {
	cases := map[string]struct{ base, full, now, want string }{
		"nothing touched":                      {base: `{a: 1}`, full: `{a: 1, b: 2}`, now: `{a: 1}`, want: `{a: 1, b: 2}`},
		"another field touched":                {base: `{a: 1}`, full: `{a: 1, b: 2}`, now: `{a: 3, c: 4}`, want: `{a: 3, b: 2, c: 4}`},
		"the field itself touched":             {base: `{b: 1}`, full: `{b: 2}`, now: `{b: 3}`, want: `{b: 3}`},
		"the field itself taken out":           {base: `{b: 1}`, full: `{b: 2}`, now: `{}`, want: `{}`},
		"a field that was not there":           {base: `{b: 1}`, full: `{}`, now: `{b: 1, c: 1}`, want: `{c: 1}`},
		"inside a map":                         {base: `{m: {a: 1, b: 1}}`, full: `{m: {a: 1, b: 2}}`, now: `{m: {a: 3, b: 1}}`, want: `{m: {a: 3, b: 2}}`},
		"the map taken out":                    {base: `{m: {b: 1}}`, full: `{m: {b: 2}}`, now: `{}`, want: `{}`},
		"null is not absent":                   {base: `{a: null}`, full: `{a: 1}`, now: `{}`, want: `{}`},
		"list untouched":                       {base: `{l: [{a: 1}, {a: 2}]}`, full: `{l: [{a: 1, b: 1}, {a: 2, b: 2}]}`, now: `{l: [{a: 1}, {a: 2}]}`, want: `{l: [{a: 1, b: 1}, {a: 2, b: 2}]}`},
		"list turned round":                    {base: `{l: [{a: 1}, {a: 2}]}`, full: `{l: [{a: 1, b: 1}, {a: 2, b: 2}]}`, now: `{l: [{a: 2}, {a: 1}]}`, want: `{l: [{a: 2, b: 2}, {a: 1, b: 1}]}`},
		"first element taken out":              {base: `{l: [{a: 1}, {a: 2}]}`, full: `{l: [{a: 1, b: 1}, {a: 2, b: 2}]}`, now: `{l: [{a: 2}]}`, want: `{l: [{a: 2, b: 2}]}`},
		"element added":                        {base: `{l: [{a: 1}]}`, full: `{l: [{a: 1, b: 1}]}`, now: `{l: [{a: 0}, {a: 1}]}`, want: `{l: [{a: 0}, {a: 1, b: 1}]}`},
		"element edited":                       {base: `{l: [{a: 1}, {a: 2}]}`, full: `{l: [{a: 1, b: 1}, {a: 2, b: 2}]}`, now: `{l: [{a: 1}, {a: 3}]}`, want: `{l: [{a: 1, b: 1}, {a: 3, b: 2}]}`},
		"equal elements keep their places":     {base: `{l: [{}, {}]}`, full: `{l: [{b: 1}, {b: 2}]}`, now: `{l: [{}, {}]}`, want: `{l: [{b: 1}, {b: 2}]}`},
		"list in a list":                       {base: `{l: [{m: [{}]}]}`, full: `{l: [{m: [{b: 1}]}]}`, now: `{l: [{a: 1, m: [{}]}]}`, want: `{l: [{a: 1, m: [{b: 1}]}]}`},
		"a list of another length is one part": {base: `{l: [1]}`, full: `{l: [1, 2]}`, now: `{l: [1]}`, want: `{l: [1, 2]}`},
		"a list of another length, touched":    {base: `{l: [1]}`, full: `{l: [1, 2]}`, now: `{l: [3]}`, want: `{l: [3]}`},
		"another type":                         {base: `{a: [1]}`, full: `{a: {b: 1}}`, now: `{a: text}`, want: `{a: text}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			base, full := differences(tree(t, c.base), tree(t, c.full))
			if diff := cmp.Diff(tree(t, c.want), mergeMaps(base, full, tree(t, c.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Whatever was pruned, the untouched original comes back.
			if diff := cmp.Diff(tree(t, c.full), mergeMaps(base, full, tree(t, c.base))); diff != "" {
				t.Errorf("untouched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	short := record{Base: map[string]any{"a": int64(1) << 60}, Full: map[string]any{"a": "b"}}
	long := record{Full: map[string]any{"a": strings.Repeat("text ", 100000)}}
	noise := make([]byte, mostText)
	rand.New(rand.NewSource(1)).Read(noise)
	huge := record{Full: map[string]any{"a": string(noise)}}
	for name, kept := range map[string]record{"short": short, "long": long} {
		text, err := encode(kept)
		if err != nil || len(text) > mostText {
			t.Fatalf("%s: %d bytes, %v", name, len(text), err)
		}
		got, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kept.Full, got.Full) + cmp.Diff(kept.Base, got.Base); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	text, err := encode(huge)
	if err != nil || len(text) > 100 {
		t.Fatalf("a record without room: %d bytes, %v", len(text), err)
	}
	if _, err := decode(text); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a record without room: got %v", err)
	}
	for _, text := range []string{"", "null", "[]", "text", `{"base":1}`, packed, packed + "!!", packed + "AAAA"} {
		got, err := decode(text)
		if err != nil || got != nil && len(got.Base)+len(got.Full) > 0 {
			t.Errorf("%q: got %v, %v; want nothing", text, got, err)
		}
	}
}

func TestEntries(t *testing.T) {
	in := map[string]string{"a": "1", "b": "2"}
	for name, c := range map[string]struct{ got, want map[string]string }{
		"with":              {With(in, "c", "3"), map[string]string{"a": "1", "b": "2", "c": "3"}},
		"with, of nothing":  {With(nil, "c", "3"), map[string]string{"c": "3"}},
		"without":           {Without(in, "a", "z"), map[string]string{"b": "2"}},
		"without any":       {Without(in, "a", "b"), nil},
		"without, of none":  {Without(nil, "a"), nil},
		"the given is kept": {in, map[string]string{"a": "1", "b": "2"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFitting(t *testing.T) {
	full := func(room int) map[string]string {
		return map[string]string{"own": strings.Repeat("x", 256<<10-3-1-room)}
	}
	tooMuch, err := encode(record{TooMuch: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		room int
		want string
	}{"room": {100, strings.Repeat("r", 100)}, "room to say so": {99, tooMuch}, "none": {len(tooMuch) - 1, ""}} {
		got, err := fitting(full(tc.room), "k", strings.Repeat("r", 100))
		if err != nil || got["k"] != tc.want || len(got["own"]) != 256<<10-4-tc.room {
			t.Errorf("%s: %q, %v", name, got["k"], err)
		}
	}
}
