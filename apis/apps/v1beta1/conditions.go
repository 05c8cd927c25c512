// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is one observation about an object of this group. It is the union of the condition
// shapes that OpenKruise gives to its kinds: stored objects of every kind read into it, and fields a
// kind does not use stay absent.
type Condition struct {
	// type of the condition, in CamelCase.
	// +optional
	Type string `json:"type"`
	// status is True, False or Unknown.
	// +optional
	Status corev1.ConditionStatus `json:"status"`
	// lastUpdateTime is when the condition was last written with another status or reason.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// reason is one CamelCase word for programs.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}
