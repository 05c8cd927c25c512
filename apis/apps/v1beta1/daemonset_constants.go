// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

const (
	// DefaultDaemonSetMaxUnavailable is the default of rollingUpdate.maxUnavailable, in nodes, when
	// maxSurge says nothing either.
	DefaultDaemonSetMaxUnavailable int32 = 1
	// DefaultDaemonSetBurstReplicas is the default of burstReplicas, in pods.
	DefaultDaemonSetBurstReplicas int32 = 250
)

// Annotations of Advanced DaemonSets and their pods.
const (
	// DaemonSetProgressiveCreatePod is an annotation on DaemonSets: v1alpha1's way to say
	// scaleStrategy.partitionedScaling. Users write "true"; the conversion reads it.
	DaemonSetProgressiveCreatePod = "daemonset.kruise.io/progressive-create-pod"
	// DaemonSetTemplateGeneration is an annotation on DaemonSets from before revisions had hashes. Nobody
	// writes it any more; the DaemonSet controller reads it to tell which pods are up to date.
	DaemonSetTemplateGeneration = "deprecated.daemonset.template.generation"
)

// Event reasons that only Advanced DaemonSets have; WorkloadEvent… are the others.
const (
	// DaemonSetEventSelectingAll (Warning): the selector is empty, so nothing is done.
	DaemonSetEventSelectingAll = "SelectingAll"
	// DaemonSetEventFailedPlacement (Warning): a pod cannot be placed on its node.
	DaemonSetEventFailedPlacement = "FailedPlacement"
	// DaemonSetEventFailedDaemonPod (Warning): a failed pod was found and is deleted.
	DaemonSetEventFailedDaemonPod = "FailedDaemonPod"
)
