// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

func TestTextOf(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-x2b9z", Labels: map[string]string{appsv1beta1.CloneSetInstanceID: "x2b9z"}}}
	err := errors.New(`create pod web-x2b9z: pods "web-x2b9z" is forbidden, and so is claim data-web-x2b9z`)
	for name, tc := range map[string]struct {
		fact execute.Fact
		want string
	}{
		"creation":           {execute.Fact{Kind: execute.Created, Pod: pod, Err: err}, `create pod web-*: pods "web-*" is forbidden, and so is claim data-web-*`},
		"deletion":           {execute.Fact{Kind: execute.Deleted, Pod: pod, Err: err}, err.Error()},
		"pod was never made": {execute.Fact{Kind: execute.Created, Err: err}, err.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := textOf(set, &tc.fact); got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A pod deleted to be made anew is told as both, like one that was marked before.
func TestEventsOfRecreation(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-x"}}
	reasons := func(f execute.Fact) string {
		var out []string
		for _, e := range eventsOf(set, &podset.Plan{}, &execute.Outcome{Facts: []execute.Fact{f}}) {
			out = append(out, e.Reason)
		}
		return strings.Join(out, " ")
	}
	for want, f := range map[string]execute.Fact{
		"SuccessfulUpdatePodReCreate SuccessfulDelete": {Kind: execute.Deleted, Pod: pod, ForUpdate: true},
		"FailedUpdatePodReCreate":                      {Kind: execute.Deleted, Pod: pod, ForUpdate: true, Err: errors.New("no")},
		"SuccessfulDelete":                             {Kind: execute.Deleted, Pod: pod},
		"FailedDelete":                                 {Kind: execute.Deleted, Pod: pod, Err: errors.New("no")},
	} {
		if got := reasons(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The reasons and texts that dashboards know.
func TestEvents(t *testing.T) {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-x"}}
	bad := errors.New("no")
	change := func(kind podset.ChangeKind) *podset.Change {
		return &podset.Change{Kind: kind, Pod: pod, Revision: "web-2"}
	}
	conflict := apierrors.NewConflict(corev1.Resource("pods"), "web-x", bad)
	for name, tc := range map[string]struct {
		fact execute.Fact
		want string
	}{
		"created":             {execute.Fact{Kind: execute.Created, Pod: pod}, "Normal SuccessfulCreate: succeed to create pod web-x"},
		"deleted":             {execute.Fact{Kind: execute.Deleted, Pod: pod, Reason: "1 pods too many"}, "Normal SuccessfulDelete: succeed to delete pod web-x: 1 pods too many"},
		"in place":            {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.UpdateInPlace)}, "Normal SuccessfulUpdatePodInPlace: successfully update pod web-x in-place(revision web-2)"},
		"recreated":           {execute.Fact{Kind: execute.Changed, Pod: pod, Reason: "policy ReCreate", Change: change(podset.MarkForRecreate)}, "Normal SuccessfulUpdatePodReCreate: successfully mark pod web-x for recreation: policy ReCreate"},
		"refreshed":           {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.Refresh)}, ""},
		"prepared":            {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.PrepareDelete)}, ""},
		"not created":         {execute.Fact{Kind: execute.Created, Pod: pod, Err: bad}, "Warning FailedCreate: no"},
		"no claim":            {execute.Fact{Kind: execute.Created, Err: bad}, "Warning FailedCreate: no"},
		"not deleted":         {execute.Fact{Kind: execute.Deleted, Pod: pod, Err: bad}, "Warning FailedDelete: no"},
		"claim not deleted":   {execute.Fact{Kind: execute.ClaimFailed, Pod: pod, Err: bad}, "Warning FailedDelete: no"},
		"not in place":        {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.UpdateInPlace), Err: bad}, "Warning FailedUpdatePodInPlace: no"},
		"not marked":          {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.MarkForRecreate), Err: bad}, "Warning FailedUpdatePodReCreate: no"},
		"not refreshed":       {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.Refresh), Err: bad}, "Warning FailedUpdate: no"},
		"lost a race (CS-28)": {execute.Fact{Kind: execute.Changed, Pod: pod, Change: change(podset.UpdateInPlace), Err: conflict}, ""},
		"deleted by others":   {execute.Fact{Kind: execute.Deleted, Pod: pod, Err: apierrors.NewNotFound(corev1.Resource("pods"), "web-x")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, e := range eventsOf(set, &podset.Plan{}, &execute.Outcome{Facts: []execute.Fact{tc.fact}}) {
				got += e.Type + " " + e.Reason + ": " + e.Note
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Of waits only those that will not pass by themselves are events, and the limit of scaling out, with its number.
func TestEventsOfWaits(t *testing.T) {
	plan := &podset.Plan{Waits: []podset.Wait{
		{Reason: podset.WaitInPlaceImpossible, Message: "cannot", Pods: []string{"a"}, Failed: true},
		{Reason: podset.WaitScaleUpLimited, Message: "lets 2 pods be unavailable"}, {Reason: podset.WaitMaxUnavailable, Message: "used up"},
	}}
	var got []string
	for _, e := range eventsOf(&appsv1beta1.CloneSet{}, plan, &execute.Outcome{}) {
		got = append(got, e.Type+" "+e.Reason+": "+e.Note)
	}
	want := []string{"Warning InPlaceUpdateImpossible: cannot (a)", "Warning ScaleUpLimited: lets 2 pods be unavailable"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
