// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// takenPodConditions are pod conditions that others write.
var takenPodConditions = map[corev1.PodConditionType]bool{
	corev1.PodScheduled: true, corev1.PodInitialized: true, corev1.PodReady: true, corev1.ContainersReady: true,
	corev1.PodReadyToStartContainers: true, corev1.DisruptionTarget: true, corev1.PodResizePending: true,
	corev1.PodResizeInProgress: true, corev1.AllContainersRestarting: true,
	v1beta1.KruisePodReadyConditionType: true, v1beta1.InPlaceUpdateReady: true,
	v1beta1.SidecarSetUpgradable: true, v1beta1.SidecarTerminatedCondition: true,
	"flotilla.sh/ContainerRuntimeUsable": true,
}

// TakenPodCondition says whether a condition of pods is written by Kubernetes or by these controllers, which read it
// again: results of probes must not go into it.
func TakenPodCondition(kind string) bool { return takenPodConditions[corev1.PodConditionType(kind)] }
