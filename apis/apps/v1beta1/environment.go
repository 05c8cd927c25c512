// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Environment variables of containers.
const (
	// SidecarEnvKey is set to "true" in every container that a SidecarSet put into a pod. The pod webhook
	// writes and reads: such containers share no volumes.
	SidecarEnvKey = "IS_INJECTED"
	// SidecarSetVersionEnvKey is in both twins of a hot upgrade: the version of the twin itself, from
	// SidecarSetVersionAnnotationPrefix. The pod webhook writes, the sidecar reads.
	SidecarSetVersionEnvKey = "SIDECARSET_VERSION"
	// SidecarSetVersionAltEnvKey is the version of the other twin. Written and read as that one.
	SidecarSetVersionAltEnvKey = "SIDECARSET_VERSION_ALT"
	// ContainerLaunchPriorityEnvName is an integer: containers with a larger one start earlier. Users
	// write, the pod webhook reads. Default 0.
	ContainerLaunchPriorityEnvName = "KRUISE_CONTAINER_PRIORITY"
	// ContainerLaunchBarrierEnvName refers to a key of ConfigMap <pod>-barrier, without which the kubelet
	// does not start the container. The pod webhook writes, the launch priority controller reads.
	ContainerLaunchBarrierEnvName = "KRUISE_CONTAINER_BARRIER"
	// TerminateSidecarWhenJobExitEnv set to "true" in a container of a job's pod ends it once the main
	// containers are done. Users write, the sidecar terminator reads.
	TerminateSidecarWhenJobExitEnv = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT"
	// TerminateSidecarWhenJobExitWithImageEnv is the image that ends the container on a node without an
	// agent, by exiting at once. Users write, the sidecar terminator reads.
	TerminateSidecarWhenJobExitWithImageEnv = "KRUISE_TERMINATE_SIDECAR_WHEN_JOB_EXIT_WITH_IMAGE"
	// TerminateSidecarIgnoreExitCodeEnv set to "true" keeps the container's exit code from the pod's
	// result. Users write, the sidecar terminator reads.
	TerminateSidecarIgnoreExitCodeEnv = "KRUISE_TERMINATE_SIDECAR_IGNORE_EXIT_CODE"
)

// Environment variables of our own processes. The manifests write them.
const (
	// NodeNameEnv is the name of the node that a node agent serves. It does not start without.
	NodeNameEnv = "NODE_NAME"
	// PodNamespaceEnv is the namespace of the process; KruiseSystemNamespace where it is unset.
	PodNamespaceEnv = "POD_NAMESPACE"
	// DaemonConfigNamespaceEnv is the namespace in which node agents may read pull secrets;
	// KruiseDaemonConfigNamespace where it is unset. The spoke reads.
	DaemonConfigNamespaceEnv = "KRUISE_DAEMON_CONFIG_NS"
	// CustomResourceEnableEnv lists the kinds to serve, joined by commas; unset means all. The spoke reads.
	CustomResourceEnableEnv = "CUSTOM_RESOURCE_ENABLE"

	// KruiseSystemNamespace is the namespace of OpenKruise's manager.
	KruiseSystemNamespace = "kruise-system"
	// KruiseDaemonConfigNamespace is the namespace of the pull secrets that node agents read.
	KruiseDaemonConfigNamespace = "kruise-daemon-config"
)

// Container launch priority, sidecar terminator and enhanced liveness on pods and nodes.
const (
	// ContainerLaunchPriorityKey is an annotation on pods: ContainerLaunchOrdered starts the containers
	// one after the other, in their order. Users write, the pod webhook reads.
	ContainerLaunchPriorityKey = "apps.kruise.io/container-launch-priority"
	// ContainerLaunchOrdered is the one value of ContainerLaunchPriorityKey.
	ContainerLaunchOrdered = "Ordered"
	// ContainerLaunchPriorityCompletedKey is an annotation on pods: "true" once every container was let
	// go. The launch priority controller writes and reads.
	ContainerLaunchPriorityCompletedKey = "apps.kruise.io/container-launch-priority-completed"
	// SidecarTerminatedCondition is a pod condition: the sidecar terminator declared the pod finished.
	// It writes; admission of ContainerRecreateRequests reads.
	SidecarTerminatedCondition = "SidecarTerminated"
	// SidecarTerminatorReason is the reason of the sidecar terminator's events on pods.
	SidecarTerminatorReason = "SidecarTerminator"

	// EnhancedLivenessKey is an annotation on pods: "true" takes the liveness probes out of their containers.
	// Users write, the pod webhook reads.
	EnhancedLivenessKey = "apps.kruise.io/using-enhanced-liveness"
	// ContainerProbeContextKey is an annotation on pods: the liveness probes that were taken out, as JSON. The
	// pod webhook and users write, the spoke reads and hands them to the node agent.
	ContainerProbeContextKey = "apps.kruise.io/container-probe-context"

	// NodeTypeLabel on nodes, with VirtualKubeletNodeType, marks nodes without an agent. Whoever runs
	// them writes; admission of ContainerRecreateRequests copies it to the request.
	NodeTypeLabel = "type"
	// VirtualKubeletNodeType is the value of NodeTypeLabel on such nodes.
	VirtualKubeletNodeType = "virtual-kubelet"
)
