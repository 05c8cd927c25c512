// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// whereElse says in what the nodes that a workload's pods may be on differ from those wanted; "" when in
// nothing. A subset's domain is no part of the revision, so nothing else tells that it has changed. The
// API server fills nothing in here; parts that say nothing are as good as absent.
func whereElse(live, want *corev1.PodSpec) string {
	var reasons []string
	if !equality.Semantic.DeepEqual(affinityOf(live), affinityOf(want)) {
		reasons = append(reasons, "the affinity has changed")
	}
	if !equality.Semantic.DeepEqual(live.Tolerations, want.Tolerations) {
		reasons = append(reasons, "the tolerations have changed")
	}
	return strings.Join(reasons, ", ")
}

// affinityOf returns the affinity without empty parts.
func affinityOf(spec *corev1.PodSpec) corev1.Affinity {
	if spec.Affinity == nil {
		return corev1.Affinity{}
	}
	out := *spec.Affinity
	out.NodeAffinity = unlessEmpty(out.NodeAffinity)
	out.PodAffinity = unlessEmpty(out.PodAffinity)
	out.PodAntiAffinity = unlessEmpty(out.PodAntiAffinity)
	return out
}

func unlessEmpty[T any](part *T) *T {
	var empty T
	if part != nil && equality.Semantic.DeepEqual(*part, empty) {
		return nil
	}
	return part
}
