// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

const (
	// DefaultStatefulSetMaxUnavailable is the default of rollingUpdate.maxUnavailable, in pods.
	DefaultStatefulSetMaxUnavailable int32 = 1
	// MaxStatefulSetMinReadySeconds is the upper bound of rollingUpdate.minReadySeconds, in seconds.
	MaxStatefulSetMinReadySeconds int32 = 300
)

// Labels and annotations of Advanced StatefulSets.
const (
	// StatefulSetPodNameLabel is a label on pods: their own name. The StatefulSet controller writes it;
	// Services that select one pod read it.
	StatefulSetPodNameLabel = "statefulset.kubernetes.io/pod-name"
	// PodIndexLabel is a label on pods: their ordinal. The StatefulSet controller writes it while gate
	// PodIndexLabel is on; users read it.
	PodIndexLabel = "apps.kubernetes.io/pod-index"
	// PVCOwnedByStatefulSetKey is an annotation on claims: the name of the set that resized them. The
	// StatefulSet controller writes it and reads it to find the set of a claim that changed.
	PVCOwnedByStatefulSetKey = "apps.kruise.io/owned-by-asts"
)

// Condition types of an Advanced StatefulSet. The controller writes them in the pass that failed and
// takes them out in the next; users read them.
const (
	// StatefulSetFailedCreatePod is True when pods could not be created.
	StatefulSetFailedCreatePod = "FailedCreatePod"
	// StatefulSetFailedUpdatePod is True when pods could not be updated.
	StatefulSetFailedUpdatePod = "FailedUpdatePod"
)

// Event reasons that only Advanced StatefulSets have; WorkloadEvent… are the others.
const (
	// StatefulSetEventSuccessfulUpdate (Normal): a pod or claim got its labels or identity back.
	StatefulSetEventSuccessfulUpdate = "SuccessfulUpdate"
	// StatefulSetEventFailedUpdate (Warning): that failed.
	StatefulSetEventFailedUpdate = "FailedUpdate"
	// StatefulSetEventSuccessfulResize (Normal): a claim was asked to grow.
	StatefulSetEventSuccessfulResize = "SuccessfulResize"
	// StatefulSetEventFailedResize (Warning): that failed.
	StatefulSetEventFailedResize = "FailedResize"
	// StatefulSetEventFailedUpdatePVC (Warning): claims could not be brought up to their template.
	StatefulSetEventFailedUpdatePVC = "FailedUpdatePVC"
)
