// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
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
