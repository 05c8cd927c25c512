// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutSpec says which workload is released in which steps.
type RolloutSpec struct {
	// workloadRef is the workload, in the namespace of the Rollout. One Rollout a workload; immutable while
	// a release is under way.
	WorkloadRef ObjectRef `json:"workloadRef"`
	// strategy says in which steps.
	Strategy RolloutStrategy `json:"strategy"`
	// disabled stops watching the workload: a release under way ends by the workload's own strategy.
	// Default false.
	// +optional
	// +kubebuilder:default=false
	Disabled bool `json:"disabled"`
}

// ObjectRef names an object in the same namespace.
type ObjectRef struct {
	// apiVersion of the object. Versions of one group mean the same object.
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
}

// RolloutStrategy says in which steps a workload is released: exactly one of canary and blueGreen is set.
type RolloutStrategy struct {
	// paused stops between steps. Default false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// canary replaces pods step by step, or runs the new ones in a workload of their own.
	// +optional
	Canary *CanaryStrategy `json:"canary,omitempty"`
	// blueGreen runs all new pods beside the old ones before any old one goes. Deployments and CloneSets.
	// +optional
	BlueGreen *BlueGreenStrategy `json:"blueGreen,omitempty"`
}

// CanaryStrategy replaces pods step by step.
type CanaryStrategy struct {
	// steps in their order, 1 to 50. While a release is under way their contents may change, their number
	// not.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	Steps []CanaryStep `json:"steps,omitempty"`
	// trafficRoutings say whose traffic the steps move. At most one; immutable while a release is under way.
	// +optional
	TrafficRoutings []TrafficRoutingRef `json:"trafficRoutings,omitempty"`
	// failureThreshold is how many of the updated pods may be not ready. Percent rounded up. Default 0.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// patchPodTemplateMetadata is merged into the template of the extra workload.
	// +optional
	PatchPodTemplateMetadata *PatchPodTemplateMetadata `json:"patchPodTemplateMetadata,omitempty"`
	// enableExtraWorkloadForCanary runs the new pods in a Deployment of their own. Deployments only, ignored
	// for other kinds. Immutable while a release is under way. Default false.
	// +optional
	EnableExtraWorkloadForCanary bool `json:"enableExtraWorkloadForCanary,omitempty"`
	// trafficRoutingRef is a TrafficRouting to hold while a release is under way.
	// +optional
	TrafficRoutingRef string `json:"trafficRoutingRef,omitempty"`
	// disableGenerateCanaryService uses the stable Service for the new pods as well, for providers that
	// tell pods apart by their labels. Default false.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// BlueGreenStrategy runs all new pods beside the old ones.
type BlueGreenStrategy struct {
	// steps in their order, 1 to 50. While a release is under way their contents may change, their number
	// not.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	Steps []CanaryStep `json:"steps,omitempty"`
	// trafficRoutings say whose traffic the steps move. At most one; immutable while a release is under way.
	// +optional
	TrafficRoutings []TrafficRoutingRef `json:"trafficRoutings,omitempty"`
	// failureThreshold is how many of the updated pods may be not ready. Percent rounded up. Default 0.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// trafficRoutingRef is a TrafficRouting to hold while a release is under way.
	// +optional
	TrafficRoutingRef string `json:"trafficRoutingRef,omitempty"`
	// disableGenerateCanaryService uses the stable Service for the new pods as well. Default false.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// PatchPodTemplateMetadata is merged into a pod template.
type PatchPodTemplateMetadata struct {
	// annotations to add.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels to add.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// CanaryStep is one step.
type CanaryStep struct {
	// Which traffic goes to the new pods.
	TrafficRoutingStrategy `json:",inline"`
	// replicas is how many pods are new at the end of the step. More than 0, at most 100%; percent of the
	// workload's replicas, rounded up. Not less than in the step before.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// pause at the end of the step.
	// +optional
	Pause RolloutPause `json:"pause,omitempty"`
}

// RolloutPause is a pause at the end of a step.
type RolloutPause struct {
	// duration of the pause. Seconds; unset waits for a person, 0 goes on at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Duration *int32 `json:"duration,omitempty"`
}

// CanaryStepState says how far a step is.
type CanaryStepState string

const (
	// CanaryStepStateInit makes Services and routes ready for the step.
	CanaryStepStateInit CanaryStepState = "BeforeStepUpgrade"
	// CanaryStepStateUpgrade makes the new pods.
	CanaryStepStateUpgrade CanaryStepState = "StepUpgrade"
	// CanaryStepStateTrafficRouting moves traffic.
	CanaryStepStateTrafficRouting CanaryStepState = "StepTrafficRouting"
	// CanaryStepStateMetricsAnalysis does nothing so far.
	CanaryStepStateMetricsAnalysis CanaryStepState = "StepMetricsAnalysis"
	// CanaryStepStatePaused waits for the pause to end. People write StepReady to end it.
	CanaryStepStatePaused CanaryStepState = "StepPaused"
	// CanaryStepStateReady goes on to the next step.
	CanaryStepStateReady CanaryStepState = "StepReady"
	// CanaryStepStateCompleted is the last step, done.
	CanaryStepStateCompleted CanaryStepState = "Completed"
)

// RolloutPhase says what a Rollout is about.
type RolloutPhase string

const (
	// RolloutPhaseInitial looks for its workload.
	RolloutPhaseInitial RolloutPhase = "Initial"
	// RolloutPhaseHealthy has no release under way.
	RolloutPhaseHealthy RolloutPhase = "Healthy"
	// RolloutPhaseProgressing has a release under way.
	RolloutPhaseProgressing RolloutPhase = "Progressing"
	// RolloutPhaseTerminating is being deleted and hands the workload back.
	RolloutPhaseTerminating RolloutPhase = "Terminating"
	// RolloutPhaseDisabling was disabled and hands the workload back.
	RolloutPhaseDisabling RolloutPhase = "Disabling"
	// RolloutPhaseDisabled is disabled.
	RolloutPhaseDisabled RolloutPhase = "Disabled"
)

// FinalisingStepType says what a release that ends is doing.
type FinalisingStepType string

const (
	// FinalisingStepRouteTrafficToNew sends all traffic to the new pods.
	FinalisingStepRouteTrafficToNew FinalisingStepType = "FinalisingStepRouteTrafficToNew"
	// FinalisingStepRouteTrafficToStable sends all traffic by the stable Service.
	FinalisingStepRouteTrafficToStable FinalisingStepType = "FinalisingStepRouteTrafficToStable"
	// FinalisingStepRestoreStableService opens the stable Service for all pods.
	FinalisingStepRestoreStableService FinalisingStepType = "RestoreStableService"
	// FinalisingStepRemoveCanaryService deletes the canary Service.
	FinalisingStepRemoveCanaryService FinalisingStepType = "RemoveCanaryService"
	// FinalisingStepResumeWorkload lets the workload go on by its own strategy.
	FinalisingStepResumeWorkload FinalisingStepType = "ResumeWorkload"
	// FinalisingStepReleaseWorkloadControl deletes the BatchRelease.
	FinalisingStepReleaseWorkloadControl FinalisingStepType = "ReleaseWorkloadControl"
	// FinalisingStepEnd is done.
	FinalisingStepEnd FinalisingStepType = "END"
	// FinalisingStepWaitEndless waits for ever; for debugging.
	FinalisingStepWaitEndless FinalisingStepType = "WaitEndless"
)

// RolloutStatus is what was seen of a Rollout.
type RolloutStatus struct {
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// canaryStatus is the state of the release, with strategy canary.
	// +optional
	CanaryStatus *CanaryStatus `json:"canaryStatus,omitempty"`
	// blueGreenStatus is the state of the release, with strategy blueGreen.
	// +optional
	BlueGreenStatus *BlueGreenStatus `json:"blueGreenStatus,omitempty"`
	// conditions: Progressing, Succeeded, Terminating.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// phase is Initial, Healthy, Progressing, Terminating, Disabling or Disabled.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// currentStepIndex mirrors that of canaryStatus or blueGreenStatus.
	// +optional
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// currentStepState mirrors that of canaryStatus or blueGreenStatus.
	// +optional
	CurrentStepState CanaryStepState `json:"currentStepState"`
}

// RolloutCondition is one observation about an object of this group.
type RolloutCondition struct {
	// type of the condition.
	// +optional
	Type RolloutConditionType `json:"type"`
	// status is True, False or Unknown.
	// +optional
	Status metav1.ConditionStatus `json:"status"`
	// lastUpdateTime is when the condition was last written.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// reason is one CamelCase word for programs.
	// +optional
	Reason string `json:"reason"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message"`
}

// CommonStatus is the state of a release with any strategy.
type CommonStatus struct {
	// observedWorkloadGeneration is the workload's generation this status speaks of.
	// +optional
	ObservedWorkloadGeneration int64 `json:"observedWorkloadGeneration,omitempty"`
	// observedRolloutID is the id of the release.
	// +optional
	ObservedRolloutID string `json:"observedRolloutID,omitempty"`
	// rolloutHash is the hash of the strategy that the release follows.
	// +optional
	RolloutHash string `json:"rolloutHash,omitempty"`
	// stableRevision is the revision that is being replaced.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// podTemplateHash is the label value of the new pods.
	// +optional
	PodTemplateHash string `json:"podTemplateHash"`
	// currentStepIndex is the step under way, counted from 1.
	// +optional
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// nextStepIndex is the step after it; -1 after the last. People write it to jump.
	// +optional
	NextStepIndex int32 `json:"nextStepIndex"`
	// finalisingStep is what a release that ends is doing.
	// +optional
	FinalisingStep FinalisingStepType `json:"finalisingStep"`
	// currentStepState says how far the step is. People write StepReady to end its pause.
	// +optional
	CurrentStepState CanaryStepState `json:"currentStepState"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// lastUpdateTime is when the state last changed; pauses are counted from it.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
}

// CanaryStatus is the state of a release with strategy canary.
type CanaryStatus struct {
	// What every strategy has.
	CommonStatus `json:",inline"`
	// canaryRevision is the revision that is being released.
	// +optional
	CanaryRevision string `json:"canaryRevision"`
	// canaryReplicas counts the new pods.
	// +optional
	CanaryReplicas int32 `json:"canaryReplicas"`
	// canaryReadyReplicas counts the new pods that are ready.
	// +optional
	CanaryReadyReplicas int32 `json:"canaryReadyReplicas"`
}

// BlueGreenStatus is the state of a release with strategy blueGreen.
type BlueGreenStatus struct {
	// What every strategy has.
	CommonStatus `json:",inline"`
	// updatedRevision is the revision that is being released.
	// +optional
	UpdatedRevision string `json:"updatedRevision"`
	// updatedReplicas counts the new pods.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// updatedReadyReplicas counts the new pods that are ready.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
}

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=fleet
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="CANARY_STEP",type="integer",JSONPath=".status.currentStepIndex"
// +kubebuilder:printcolumn:name="CANARY_STATE",type="string",JSONPath=".status.currentStepState"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.message"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"

// Rollout releases new versions of one workload in steps.
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RolloutSpec   `json:"spec,omitempty"`
	Status RolloutStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// RolloutList is a list of Rollouts.
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Rollout `json:"items"`
}
