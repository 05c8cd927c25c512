// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"strings"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

// eventsOf tells what became of a plan.
func eventsOf(set *appsv1beta1.CloneSet, plan *podset.Plan, outcome *execute.Outcome) []events.Event {
	var out []events.Event
	for i := range outcome.Facts {
		f := &outcome.Facts[i]
		if f.ForUpdate && f.Err == nil {
			out = append(out, recreated(set, "delete pod "+f.Pod.Name+" for recreation", f.Reason))
		}
		if e, ok := eventOf(set, f); ok {
			out = append(out, e)
		}
	}
	for i := range plan.Waits {
		if w := &plan.Waits[i]; w.Failed || w.Reason == podset.WaitScaleUpLimited {
			out = append(out, events.Warning(set, w.Reason, "Reconcile", describe(w)))
		}
	}
	return out
}

func eventOf(set *appsv1beta1.CloneSet, f *execute.Fact) (events.Event, bool) {
	if f.Err != nil {
		return failureOf(set, f)
	}
	switch f.Kind {
	case execute.Created:
		return events.Normal(set, "SuccessfulCreate", "Create", "succeed to create pod "+f.Pod.Name), true
	case execute.Deleted:
		return events.Normal(set, "SuccessfulDelete", "Delete", fmt.Sprintf("succeed to delete pod %s: %s", f.Pod.Name, f.Reason)), true
	case execute.Changed:
		return changeEvent(set, f)
	case execute.ClaimFailed:
		return events.Event{}, false
	default:
		return events.Event{}, false
	}
}

func changeEvent(set *appsv1beta1.CloneSet, f *execute.Fact) (events.Event, bool) {
	switch f.Change.Kind {
	case podset.UpdateInPlace:
		return events.Normal(set, "SuccessfulUpdatePodInPlace", "UpdateInPlace",
			fmt.Sprintf("successfully update pod %s in-place(revision %s)", f.Pod.Name, f.Change.Revision)), true
	case podset.MarkForRecreate:
		return recreated(set, "mark pod "+f.Pod.Name+" for recreation", f.Reason), true
	case podset.PrepareUpdate, podset.PrepareDelete, podset.Refresh, podset.Revive:
		return events.Event{}, false
	default:
		return events.Event{}, false
	}
}

func recreated(set *appsv1beta1.CloneSet, what, why string) events.Event {
	return events.Normal(set, "SuccessfulUpdatePodReCreate", "Recreate", fmt.Sprintf("successfully %s: %s", what, why))
}

func failureOf(set *appsv1beta1.CloneSet, f *execute.Fact) (events.Event, bool) {
	if f.Raced() || f.InVain() {
		return events.Event{}, false
	}
	reason, action := "FailedUpdate", "Update"
	switch {
	case f.Kind == execute.Created:
		reason, action = "FailedCreate", "Create"
	case f.ForUpdate:
		reason, action = "FailedUpdatePodReCreate", "Recreate"
	case f.Kind == execute.Deleted, f.Kind == execute.ClaimFailed:
		reason, action = "FailedDelete", "Delete"
	case f.Change.Kind == podset.UpdateInPlace:
		reason, action = "FailedUpdatePodInPlace", "UpdateInPlace"
	case f.Change.Kind == podset.MarkForRecreate:
		reason, action = "FailedUpdatePodReCreate", "Recreate"
	}
	return events.Warning(set, reason, action, textOf(set, f)), true
}

// textOf says what failed. A pod that is not there has a name drawn anew on each attempt; with a star in
// its place a creation refused again and again has one text, which is written and told once.
func textOf(set *appsv1beta1.CloneSet, f *execute.Fact) string {
	text := f.Err.Error()
	if f.Kind != execute.Created || f.Pod == nil || f.Pod.Name == "" {
		return text
	}
	id := f.Pod.Labels[appsv1beta1.CloneSetInstanceID]
	return strings.ReplaceAll(text, set.Name+"-"+id, set.Name+"-*")
}
