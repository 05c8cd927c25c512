// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
