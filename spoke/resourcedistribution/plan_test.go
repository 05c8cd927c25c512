// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// Every row of the table in doc.go.
func TestMakePlan(t *testing.T) {
	there, going := namespaceFacts{}, namespaceFacts{going: true}
	good := sighting{ours: true, marked: true, digest: "d", hash: "h"}
	for name, tc := range map[string]struct {
		namespace *namespaceFacts
		object    *sighting
		target    bool
		want      action
		seen      bool
	}{
		"target, namespace missing":           {nil, nil, true, wait, true},
		"target, namespace going":             {&going, nil, true, wait, true},
		"target, namespace going with a copy": {&going, &good, true, wait, true},
		"target, no object":                   {&there, nil, true, create, false},
		"target, as it should be":             {&there, &good, true, nothing, true},
		"target, other content":               {&there, &sighting{ours: true, marked: true, digest: "x", hash: "h"}, true, update, true},
		"target, of an older resource":        {&there, &sighting{ours: true, marked: true, digest: "d", hash: "g"}, true, update, true},
		"target, unmarked":                    {&there, &sighting{ours: true}, true, update, true},
		"target, another's":                   {&there, &sighting{}, true, leave, false},
		"other, ours":                         {&there, &good, false, remove, true},
		"other, ours and unmarked":            {&there, &sighting{ours: true}, false, remove, true},
		"other, namespace going":              {&going, &good, false, nothing, true},
		"other, another's":                    {&there, &sighting{}, false, nothing, true},
		"other, none":                         {&there, nil, false, nothing, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &snapshot{namespaces: map[string]namespaceFacts{}, found: map[string]sighting{}, digest: "d", hash: "h"}
			if tc.namespace != nil {
				s.namespaces["ns"] = *tc.namespace
			}
			if tc.object != nil {
				s.found["ns"] = *tc.object
			}
			if tc.target {
				s.targets = []string{"ns"}
			} else {
				s.others = []string{"ns"}
			}
			var want []step
			if tc.want != nothing {
				want = []step{{"ns", tc.want}}
			}
			if d := cmp.Diff(want, makePlan(s), cmp.AllowUnexported(step{})); d != "" {
				t.Error(d)
			}
			if got := len(s.unseen()) == 0; got != tc.seen {
				t.Errorf("seen: %v", got)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	then, now := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	rd := distributionOf(secret)
	rd.Status.Conditions = []v1beta1.ResourceDistributionCondition{
		{Type: v1beta1.ResourceDistributionConflictOccurred, Status: corev1.ConditionTrue, LastTransitionTime: then, Reason: "older words", FailedNamespaces: []string{"d"}},
		{Type: v1beta1.ResourceDistributionCreateResourceFailed, Status: corev1.ConditionTrue, LastTransitionTime: then},
		{Type: v1beta1.ResourceDistributionGetResourceFailed, Status: corev1.ConditionFalse, LastTransitionTime: then},
	}
	of := func(namespace string, cause v1beta1.ResourceDistributionConditionType, words string) failure {
		return failure{namespace, &problem{cause, errors.New(words)}}
	}
	failures := []failure{
		of("d", v1beta1.ResourceDistributionConflictOccurred, "first"), of("b", v1beta1.ResourceDistributionConflictOccurred, "last"),
		of("gone", v1beta1.ResourceDistributionNamespaceNotExists, "missing"), of("other", v1beta1.ResourceDistributionDeleteResourceFailed, "refused"),
	}
	got := statusOf(rd, []string{"a", "b", "c", "d", "gone"}, failures, now)
	f, tr := corev1.ConditionFalse, corev1.ConditionTrue
	want := v1beta1.ResourceDistributionStatus{Desired: 5, Succeeded: 2, Failed: 3, ObservedGeneration: 3, Conditions: []v1beta1.ResourceDistributionCondition{
		{Type: "GetResourceFailed", Status: f, LastTransitionTime: then, Reason: "Succeeded"},
		{Type: "CreateResourceFailed", Status: f, LastTransitionTime: now, Reason: "Succeeded"},
		{Type: "UpdateResourceFailed", Status: f, LastTransitionTime: now, Reason: "Succeeded"},
		{Type: "DeleteResourceFailed", Status: tr, LastTransitionTime: now, Reason: "refused", FailedNamespaces: []string{"other"}},
		{Type: "ConflictOccurred", Status: tr, LastTransitionTime: then, Reason: "last", FailedNamespaces: []string{"b", "d"}},
		{Type: "NamespaceNotExists", Status: tr, LastTransitionTime: now, Reason: "missing", FailedNamespaces: []string{"gone"}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	told := eventsOf(rd, failing(rd.Status.Conditions, got.Conditions))
	wantTold := []events.Event{
		events.Warning(rd, "DeleteResourceFailed", "Distribute", "other: refused"),
		events.Warning(rd, "ConflictOccurred", "Distribute", "b, d: last"),
		events.Warning(rd, "NamespaceNotExists", "Distribute", "gone: missing"),
	}
	if d := cmp.Diff(wantTold, told); d != "" {
		t.Error(d)
	}
	// One more namespace is told, the same ones are not.
	more := statusOf(rd, []string{"a", "b", "c", "d", "gone"}, append(failures, of("a", v1beta1.ResourceDistributionConflictOccurred, "and one")), now)
	if d := cmp.Diff([]v1beta1.ResourceDistributionCondition{more.Conditions[4]}, failing(got.Conditions, more.Conditions)); d != "" {
		t.Error(d)
	}
	rd.Status = got
	if again := statusOf(rd, []string{"a", "b", "c", "d", "gone"}, failures, metav1.NewTime(time.Unix(300, 0))); differs(&rd.Status, &again) {
		t.Error("the same is written again")
	}
	// What is wrong with all has no namespace.
	all := statusOf(rd, nil, []failure{unread(errors.New("no rights"))}, now)
	if c := all.Conditions[0]; c.Status != tr || c.Reason != "no rights" || c.FailedNamespaces != nil || all.Failed != 0 {
		t.Errorf("%+v", all)
	}
}

func TestSome(t *testing.T) {
	for want, names := range map[string][]string{
		"a, b": {"a", "b"}, "a, b, c, d, e": {"a", "b", "c", "d", "e"}, "a, b, c, d, e and 2 more": {"a", "b", "c", "d", "e", "f", "g"},
	} {
		if got := some(names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
