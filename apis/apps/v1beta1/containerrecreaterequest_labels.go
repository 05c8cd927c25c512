// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels, annotations and finalizers of ContainerRecreateRequests.
const (
	// ContainerRecreateRequestPodUIDKey is a label: the UID of the pod. Admission writes; the spoke reads
	// and tells by it that the pod is another one. Immutable.
	ContainerRecreateRequestPodUIDKey = "crr.apps.kruise.io/pod-uid"
	// ContainerRecreateRequestNodeNameKey is a label: the node of the pod. Admission writes, node agents
	// select by it. Immutable.
	ContainerRecreateRequestNodeNameKey = "crr.apps.kruise.io/node-name"
	// ContainerRecreateRequestActiveKey is a label: "true" until the request has ended. Admission writes,
	// the spoke removes it, node agents select by it.
	ContainerRecreateRequestActiveKey = "crr.apps.kruise.io/active"
	// ContainerRecreateRequestUnreadyAcquiredKey is a finalizer: the request keeps its pod not ready. The
	// spoke writes and removes it. In the v1alpha1 view it is also an annotation, the RFC 3339 time of
	// condition PreRecreateGrace; conversion writes and reads.
	ContainerRecreateRequestUnreadyAcquiredKey = "crr.apps.kruise.io/unready-acquired"
	// ContainerRecreateRequestSyncContainerStatusesKey is an annotation of the v1alpha1 view:
	// status.containerStatusSnapshot as JSON. Conversion writes and reads.
	ContainerRecreateRequestSyncContainerStatusesKey = "crr.apps.kruise.io/sync-container-statuses"
)

// PreRecreateGraceCondition is True from the moment at which the pod was made not ready; the node agent
// waits unreadyGracePeriodSeconds from its lastTransitionTime. The spoke writes it once. Its reason is the
// same word.
const PreRecreateGraceCondition = "PreRecreateGrace"

// PreRecreateGraceMessage is the message of condition PreRecreateGrace.
const PreRecreateGraceMessage = "Pod has been forced to not-ready for unreadyGracePeriodSeconds drain"

// Reasons of the node agent's events on pods.
const (
	// ContainerRecreateRequestKillingReason: a container is being stopped.
	ContainerRecreateRequestKillingReason = "Killing"
	// ContainerRecreateRequestFailedPreStopHookReason: its preStop hook failed; it is stopped all the same.
	ContainerRecreateRequestFailedPreStopHookReason = "FailedPreStopHook"
)

// Messages of requests that ended early.
const (
	// ContainerRecreateRequestPodGone: the pod was deleted or replaced.
	ContainerRecreateRequestPodGone = "pod has gone"
	// ContainerRecreateRequestNoResponse: the node's agent did not see the request within a minute.
	ContainerRecreateRequestNoResponse = "daemon has not responded for a long time"
	// ContainerRecreateRequestDeadlineExceeded: activeDeadlineSeconds passed.
	ContainerRecreateRequestDeadlineExceeded = "recreating has exceeded the activeDeadlineSeconds"
)
