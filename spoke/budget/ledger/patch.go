// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/spoke/budget"
)

// patchOf makes the books what they should be, of the very version that was read. Numbers are sent all, for a budget
// that was never looked at has none.
func patchOf(b, after *budget.Budget) (client.Patch, error) {
	next := &after.Status
	status := map[string]any{
		"observedGeneration": next.ObservedGeneration, "unavailableAllowed": next.UnavailableAllowed,
		"currentAvailable": next.CurrentAvailable, "desiredAvailable": next.DesiredAvailable, "totalReplicas": next.TotalReplicas,
	}
	if entries := entriesOf(b.Status.DisruptedPods, next.DisruptedPods); len(entries) > 0 {
		status["disruptedPods"] = entries
	}
	if entries := entriesOf(b.Status.UnavailablePods, next.UnavailablePods); len(entries) > 0 {
		status["unavailablePods"] = entries
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": b.UID, "resourceVersion": b.ResourceVersion}, "status": status,
	})
	return client.RawPatch(types.MergePatchType, body), err
}

// entriesOf are the entries that differ; those that go are null.
func entriesOf(old, next map[string]metav1.Time) map[string]*metav1.Time {
	out := map[string]*metav1.Time{}
	for name := range old {
		if _, stays := next[name]; !stays {
			out[name] = nil
		}
	}
	for name, at := range next {
		if before, had := old[name]; !had || !before.Equal(&at) {
			out[name] = &at
		}
	}
	return out
}
