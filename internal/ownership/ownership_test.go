// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestControllerOf(t *testing.T) {
	yes := true
	pod := func(refs ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: refs}}
	}
	gk := schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"none":           {pod(), false},
		"older version":  {pod(metav1.OwnerReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", UID: "1", Controller: &yes}), true},
		"not controller": {pod(metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", UID: "1"}), false},
		"other group":    {pod(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "CloneSet", UID: "1", Controller: &yes}), false},
		"unreadable":     {pod(metav1.OwnerReference{APIVersion: "a/b/c", Kind: "CloneSet", UID: "1", Controller: &yes}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ControllerOf(tc.pod, gk) != nil; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if keys := IndexByController(pod()); keys != nil {
		t.Errorf("keys = %v", keys)
	}
}
