// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ContainerRecreateRequestSpec says which containers of which pod to restart. Immutable.
type ContainerRecreateRequestSpec struct {
	// podName is the pod, in the namespace of the request.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cannot be changed: make another ContainerRecreateRequest"
	PodName string `json:"podName"`
	// containers to restart, each once, in this order where the strategy asks for order.
	// +patchMergeKey=name
	// +patchStrategy=merge
	Containers []v1beta1.ContainerRecreateRequestContainer `json:"containers" patchMergeKey:"name" patchStrategy:"merge"`
	// strategy says how to restart them.
	// +optional
	Strategy *ContainerRecreateRequestStrategy `json:"strategy,omitempty"`
	// activeDeadlineSeconds is how long after its creation the request is given up. Seconds, at least 3;
	// unset means never.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// ttlSecondsAfterFinished is how long after its end the request is deleted. Seconds; unset means never.
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// ContainerRecreateRequestFailurePolicyType says what a container that cannot be stopped does to the rest.
type ContainerRecreateRequestFailurePolicyType string

const (
	// ContainerRecreateRequestFailurePolicyFail ends the request. The default.
	ContainerRecreateRequestFailurePolicyFail ContainerRecreateRequestFailurePolicyType = "Fail"
	// ContainerRecreateRequestFailurePolicyIgnore goes on with the other containers.
	ContainerRecreateRequestFailurePolicyIgnore ContainerRecreateRequestFailurePolicyType = "Ignore"
)

// ContainerRecreateRequestStrategy says how to restart containers.
type ContainerRecreateRequestStrategy struct {
	// failurePolicy is Fail (default) or Ignore.
	// +optional
	FailurePolicy ContainerRecreateRequestFailurePolicyType `json:"failurePolicy,omitempty"`
	// orderedRecreate waits for each container before it stops the next. Default false.
	// +optional
	OrderedRecreate bool `json:"orderedRecreate,omitempty"`
	// forceRecreate also stops containers that were restarted, or have not started, since the request was
	// made. Default false.
	// +optional
	ForceRecreate bool `json:"forceRecreate,omitempty"`
	// terminationGracePeriodSeconds is how long a container may take to stop. Seconds; the pod's own by
	// default.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// unreadyGracePeriodSeconds is how long the pod is kept not ready before the first container stops.
	// Seconds; works in pods with readiness gate KruisePodReady. Unset means not at all.
	// +optional
	UnreadyGracePeriodSeconds *int64 `json:"unreadyGracePeriodSeconds,omitempty"`
	// minStartedSeconds is how long a new container runs before it counts as restarted. Seconds, default 0.
	// +optional
	MinStartedSeconds int32 `json:"minStartedSeconds,omitempty"`
}

// ContainerRecreateRequestPhase says how far a request, or one of its containers, is.
type ContainerRecreateRequestPhase string

const (
	// ContainerRecreateRequestPending waits for an earlier request of the pod, or for its turn.
	ContainerRecreateRequestPending ContainerRecreateRequestPhase = "Pending"
	// ContainerRecreateRequestRecreating is being restarted.
	ContainerRecreateRequestRecreating ContainerRecreateRequestPhase = "Recreating"
	// ContainerRecreateRequestSucceeded is a container that was restarted.
	ContainerRecreateRequestSucceeded ContainerRecreateRequestPhase = "Succeeded"
	// ContainerRecreateRequestFailed is a container that could not be stopped.
	ContainerRecreateRequestFailed ContainerRecreateRequestPhase = "Failed"
	// ContainerRecreateRequestCompleted is a request that ended, well or not.
	ContainerRecreateRequestCompleted ContainerRecreateRequestPhase = "Completed"
)

// ContainerRecreateRequestStatus is what was seen of a request. The node agent writes phase and
// containerRecreateStates, the spoke the rest, and the phase when it ends a request itself.
type ContainerRecreateRequestStatus struct {
	// phase is empty until the node's agent has seen the request, then Pending, Recreating, Completed.
	// +optional
	Phase ContainerRecreateRequestPhase `json:"phase,omitempty"`
	// completionTime is when it became Completed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// message says why it ended early. Empty where it did not.
	// +optional
	Message string `json:"message,omitempty"`
	// containerRecreateStates, one for each container of the spec, in its order.
	// +optional
	ContainerRecreateStates []ContainerRecreateRequestContainerRecreateState `json:"containerRecreateStates,omitempty"`
}

// ContainerRecreateRequestContainerRecreateState is how far one container is.
type ContainerRecreateRequestContainerRecreateState struct {
	// name of the container.
	// +optional
	Name string `json:"name"`
	// phase of the container.
	// +optional
	Phase ContainerRecreateRequestPhase `json:"phase,omitempty"`
	// message says what is in the way.
	// +optional
	Message string `json:"message,omitempty"`
	// isKilled says that the agent has stopped the old instance.
	// +optional
	IsKilled bool `json:"isKilled,omitempty"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=crr,categories=fleet
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="POD",type="string",JSONPath=".spec.podName"
// +kubebuilder:printcolumn:name="NODE",type="string",JSONPath=".metadata.labels.crr\\.apps\\.kruise\\.io/node-name"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// ContainerRecreateRequest restarts containers of one pod in place.
type ContainerRecreateRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ContainerRecreateRequestSpec   `json:"spec,omitempty"`
	Status ContainerRecreateRequestStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// ContainerRecreateRequestList is a list of ContainerRecreateRequests.
type ContainerRecreateRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ContainerRecreateRequest `json:"items"`
}
