// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Enhanced liveness: its controller restarts containers whose liveness probe fails, where
// EnhancedLivenessKey on the pod asks for it.
const (
	// EnhancedLivenessPausedKey is an annotation on pods and on their workloads: "true" keeps enhanced
	// liveness from restarting anything. Users write, its controller reads.
	EnhancedLivenessPausedKey = "apps.kruise.io/enhanced-liveness-paused"
	// EnhancedLivenessStatusKey is an annotation on pods: container, state, last decision, its reason and
	// time, as JSON. Its controller writes, people read.
	EnhancedLivenessStatusKey = "apps.kruise.io/enhanced-liveness-status"
	// EnhancedLivenessRequestLabel is on ContainerRecreateRequests: "true" on those of enhanced liveness.
	// Its controller writes and selects by it; admission of requests reads.
	EnhancedLivenessRequestLabel = "apps.kruise.io/enhanced-liveness-crr"
	// EnhancedLivenessOldFinalizer was on pods of a draft. Nobody writes it; the controller takes it off.
	EnhancedLivenessOldFinalizer = "pod.kruise.io/enhanced-liveness-probe-cleanup"

	// EnhancedLivenessConfigName is a ConfigMap in the spoke's namespace, whose key EnhancedLivenessConfigKey
	// holds limits as JSON or YAML. The administrator writes, the controller reads.
	EnhancedLivenessConfigName = "enhanced-liveness-config"
	// EnhancedLivenessConfigKey: see EnhancedLivenessConfigName.
	EnhancedLivenessConfigKey = "config"
)

// Reasons of enhanced liveness' events on pods.
const (
	// EnhancedLivenessUnsupportedReason: the node has no agent.
	EnhancedLivenessUnsupportedReason = "EnhancedLivenessUnsupported"
	// InvalidProbeContextReason: ContainerProbeContextKey of the pod cannot be read.
	InvalidProbeContextReason = "InvalidProbeContext"
	// NodePodProbeTooLargeReason: there is no room for the pod's probes in its node's NodePodProbe.
	NodePodProbeTooLargeReason = "NodePodProbeTooLarge"
	// RestartCappedReason: the pod or its workload has had its restarts for this hour.
	RestartCappedReason = "RestartCapped"
	// LivenessBreakerOpenReason: so many pods of the workload fail that none is restarted for a while.
	LivenessBreakerOpenReason = "LivenessBreakerOpen"
	// RestartFailedReason: the container could not be restarted.
	RestartFailedReason = "RestartFailed"
)
