// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// InPlaceUpdateStrategy tunes in-place updates and the image pre-download ahead of them.
type InPlaceUpdateStrategy struct {
	// gracePeriodSeconds is how long a pod is kept not ready before its containers change.
	// Seconds, default 0.
	// +optional
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
	// imagePreDownloadParallelism is how many nodes pull at once. Integer, default 1.
	// +optional
	ImagePreDownloadParallelism *intstr.IntOrString `json:"imagePreDownloadParallelism,omitempty"`
	// imagePreDownloadTimeoutSeconds bounds one pull. Seconds, default 300.
	// +optional
	ImagePreDownloadTimeoutSeconds *int32 `json:"imagePreDownloadTimeoutSeconds,omitempty"`
	// imagePreDownloadMinUpdatedReadyPods is how many updated pods must be ready before the
	// pre-download starts. Default 0.
	// +optional
	ImagePreDownloadMinUpdatedReadyPods *int32 `json:"imagePreDownloadMinUpdatedReadyPods,omitempty"`
}

// UpdatePriorityStrategy orders pods for update. Exactly one of its fields is set.
type UpdatePriorityStrategy struct {
	// orderPriority orders by the trailing integer of label values.
	// +optional
	OrderPriority []UpdatePriorityOrderTerm `json:"orderPriority,omitempty"`
	// weightPriority orders by the sum of the weights of the terms a pod matches.
	// +optional
	WeightPriority []UpdatePriorityWeightTerm `json:"weightPriority,omitempty"`
}

// UpdatePriorityOrderTerm is one label key to order by.
type UpdatePriorityOrderTerm struct {
	// orderedKey is a label key; the integer at the end of its value orders, larger first.
	OrderedKey string `json:"orderedKey"`
}

// UpdatePriorityWeightTerm gives a weight to the pods a selector matches.
type UpdatePriorityWeightTerm struct {
	// weight is 0 to 100.
	Weight int32 `json:"weight"`
	// matchSelector selects pods by label.
	MatchSelector metav1.LabelSelector `json:"matchSelector"`
}

// UpdateScatterStrategy spreads the pods that carry the given labels over the update order.
type UpdateScatterStrategy []UpdateScatterTerm

// UpdateScatterTerm is one label whose pods are spread.
type UpdateScatterTerm struct {
	// key of the label.
	Key string `json:"key"`
	// value of the label.
	Value string `json:"value"`
}

// PodUpdateStrategyType says how a pod gets a new revision.
type PodUpdateStrategyType string

const (
	// RecreatePodUpdateStrategyType deletes the pod and creates a new one.
	RecreatePodUpdateStrategyType PodUpdateStrategyType = "ReCreate"
	// InPlaceIfPossiblePodUpdateStrategyType updates in place, or recreates where that cannot be.
	InPlaceIfPossiblePodUpdateStrategyType PodUpdateStrategyType = "InPlaceIfPossible"
	// InPlaceOnlyPodUpdateStrategyType updates in place and never recreates.
	InPlaceOnlyPodUpdateStrategyType PodUpdateStrategyType = "InPlaceOnly"
)
