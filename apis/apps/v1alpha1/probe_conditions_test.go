// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

func TestTakenPodCondition(t *testing.T) {
	for _, kind := range []string{
		"PodScheduled", "Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers", "DisruptionTarget",
		"PodResizePending", "PodResizeInProgress", "KruisePodReady", "InPlaceUpdateReady", "SidecarSetUpgradable", "SidecarTerminated",
	} {
		if !v1alpha1.TakenPodCondition(kind) {
			t.Errorf("%s is free", kind)
		}
	}
	for _, kind := range []string{"", "ready", "example.com/Ready", "Idle"} {
		if v1alpha1.TakenPodCondition(kind) {
			t.Errorf("%q is taken", kind)
		}
	}
}
