// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestMatches(t *testing.T) {
	ours := &record{uid: "u", generation: 3, version: "30", metadata: metadataHash(&metav1.PartialObjectMetadata{})}
	plain := &record{uid: "u", version: "30", metadata: ours.metadata}
	object := func(uid, version string, generation int64, labels map[string]string) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{}
		m.UID, m.ResourceVersion, m.Generation, m.Labels = "u", version, generation, labels
		if uid != "" {
			m.SetUID("other")
		}
		return m
	}
	drift := map[string]string{"a": "b"}
	for name, tc := range map[string]struct {
		record *record
		live   *metav1.PartialObjectMetadata
		want   bool
	}{
		"as left":                    {ours, object("", "30", 3, nil), true},
		"status moved on":            {ours, object("", "31", 3, nil), true},
		"labels drifted":             {ours, object("", "31", 3, drift), false},
		"spec drifted":               {ours, object("", "31", 4, nil), false},
		"cache lags":                 {ours, object("", "20", 2, drift), true},
		"made anew":                  {ours, object("x", "30", 3, nil), false},
		"no generation, as left":     {plain, object("", "30", 0, nil), true},
		"no generation, cache lags":  {plain, object("", "9", 0, drift), true},
		"no generation, drifted":     {plain, object("", "100", 0, nil), false},
		"no generation, odd version": {plain, object("", "x", 0, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.record.matches(tc.live); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if ours.matches(nil) {
		t.Error("an absent object matches")
	}
}

func TestForget(t *testing.T) {
	object := func(uid types.UID) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{}
		m.Name, m.UID = "o", uid
		return m
	}
	for name, tc := range map[string]struct {
		uid  types.UID
		left int
	}{
		"the object":        {"u", 0},
		"without a uid":     {"", 0},
		"the one before it": {"old", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(nil)
			a.remember(keyOf(object("u")), "owner", 1, nil, object("u"))
			a.Forget(object(tc.uid))
			if len(a.memo) != tc.left {
				t.Errorf("%d objects known, want %d", len(a.memo), tc.left)
			}
		})
	}
}
