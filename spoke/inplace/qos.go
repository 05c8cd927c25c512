// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import corev1 "k8s.io/api/core/v1"

// QoSOf is the quality of service class that the API server gives a pod with this spec. It cannot change while the
// pod lives. Kubernetes' documentation of pod quality of service is the source.
func QoSOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, nothing := true, true
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			whole, none := asksFor(&list[i].Resources)
			guaranteed, nothing = guaranteed && whole, nothing && none
		}
	}
	switch {
	case nothing:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

// asksFor says whether a container asks for all it may use of cpu and memory, and whether it asks for nothing.
func asksFor(r *corev1.ResourceRequirements) (whole, none bool) {
	whole, none = true, true
	for _, name := range resizable {
		request, limit := r.Requests[name], r.Limits[name]
		if request.IsZero() { // a request left out is the limit
			request = limit
		}
		whole = whole && !limit.IsZero() && request.Cmp(limit) == 0
		none = none && request.IsZero()
	}
	return whole, none
}
