// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SidecarSetUpgradeSpec is what a pod remembers of one set it got sidecars of: the value of
// SidecarSetHashAnnotation maps set names to it.
type SidecarSetUpgradeSpec struct {
	// UpdateTimestamp is when the entry was written.
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// SidecarSetHash is the hash of the set that the pod runs.
	SidecarSetHash string `json:"hash"`
	// SidecarSetName is the name of the set.
	SidecarSetName string `json:"sidecarSetName"`
	// SidecarList are the names of its containers, sorted; plain init containers are left out.
	SidecarList []string `json:"sidecarList"`
	// SidecarSetControllerRevision is the name of the revision; only in SidecarSetHashAnnotation.
	SidecarSetControllerRevision string `json:"controllerRevision,omitempty"`
}

// SidecarSetPatchMetadataWhiteList is the value of SidecarSetPatchPodMetadataWhiteListKey.
type SidecarSetPatchMetadataWhiteList struct {
	// Rules of which one must allow each annotation.
	Rules []SidecarSetPatchMetadataWhiteRule `json:"rules"`
}

// SidecarSetPatchMetadataWhiteRule allows annotations to some SidecarSets.
type SidecarSetPatchMetadataWhiteRule struct {
	// Selector matches the labels of SidecarSets; nil matches all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// AllowedAnnotationKeyExprs are regular expressions, matched against any part of a key.
	AllowedAnnotationKeyExprs []string `json:"allowedAnnotationKeyExprs"`
}
