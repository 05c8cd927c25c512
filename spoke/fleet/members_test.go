// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// An object that is gone is forgotten, whoever deleted it, and one made anew under its name is not.
func TestGoneObjectsAreForgotten(t *testing.T) {
	m := newMembers(nil, nil, nil)
	obj := parse(t, udText)
	obj.SetUID("second")
	m.recent[keyFor(obj)] = obj
	gone := obj.DeepCopy()
	for _, step := range []struct {
		uid  string
		left int
	}{{"first", 1}, {"second", 0}} {
		gone.SetUID(types.UID(step.uid))
		if !drift(m.forget).Delete(event.DeleteEvent{Object: gone}) {
			t.Error("a deletion must be looked at")
		}
		if len(m.recent) != step.left {
			t.Errorf("%d known after %s is gone, want %d", len(m.recent), step.uid, step.left)
		}
	}
}
