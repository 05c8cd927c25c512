// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"fits":          {"übel", 5, "übel"},
		"between runes": {"abcdef", 5, "ab…"},
		"inside a rune": {"aüüü", 5, "a…"},
		"before a rune": {"aaüü", 5, "aa…"},
		"no UTF-8":      {"a\xffb", 9, "a\uFFFDb"},
		"no room":       {"abcd", 3, "…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Cut(tc.text, tc.limit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// What is stored is what was computed, and fits.
func TestCutSurvivesStorage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), rapid.IntRange(3, 20).Draw(t, "limit")
		text += strings.Repeat(rapid.String().Draw(t, "tail"), 3)
		cut := Cut(text, limit)
		raw, err := json.Marshal(cut)
		if err != nil {
			t.Fatal(err)
		}
		var stored string
		if err := json.Unmarshal(raw, &stored); err != nil {
			t.Fatal(err)
		}
		if stored != cut || len(cut) > limit || Cut(stored, limit) != cut {
			t.Fatalf("%q became %q, stored as %q", text, cut, stored)
		}
	})
}
