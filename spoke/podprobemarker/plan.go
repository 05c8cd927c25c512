// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// snapshot is all that decides about one marker.
type snapshot struct {
	marker *v1alpha1.PodProbeMarker
	// pods that it selects.
	pods []corev1.Pod
	// nodes that are there, by name.
	nodes map[string]bool
	// cleanup are the nodes whose objects have probes of it.
	cleanup []string
}

// plan is what to write.
type plan struct {
	// hold adds the finalizer, release takes it off.
	hold, release bool
	// status is the one to write, nil when it is right.
	status *v1alpha1.PodProbeMarkerStatus
	reason string
}

func makePlan(s *snapshot) plan {
	held := slices.Contains(s.marker.Finalizers, v1alpha1.PodProbeMarkerFinalizer)
	if s.marker.DeletionTimestamp != nil {
		if len(s.cleanup) > 0 {
			return plan{reason: "its probes are still asked for"}
		}
		return plan{release: held, reason: "it is deleted"}
	}
	p := plan{hold: !held, reason: "it is in force"}
	status := v1alpha1.PodProbeMarkerStatus{ObservedGeneration: s.marker.Generation, MatchedPods: matched(s)}
	if status != s.marker.Status {
		p.status = &status
	}
	return p
}

// matched counts the pods that may be probed.
func matched(s *snapshot) int64 {
	var n int64
	for i := range s.pods {
		if pod := &s.pods[i]; podprobe.Probed(pod) && s.nodes[pod.Spec.NodeName] {
			n++
		}
	}
	return n
}
