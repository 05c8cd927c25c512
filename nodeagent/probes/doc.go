// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probes runs the probes that the NodePodProbe of its node asks for, and writes their results into the
// status of that object. The spoke makes the object from PodProbeMarkers, and takes the results on to pods.
//
// It promises:
//   - Period, delay, time-out and thresholds are as of the kubelet's probes. What has no result yet is Unknown, and
//     so is every new instance of a container until it was probed; one that does not run is Failed.
//   - Results are kept by pod, container and probe, and live in the status: an agent that starts again goes on
//     from there, and no state changes because it was away.
//   - What the agent cannot find out changes no state: while the runtime is away commands are not run, and their
//     results stay as they were. HTTP, TCP and gRPC probes need no runtime and go on. A probe waits for its pod's IP.
//   - No write when neither a state nor a message changed, but for one in ten minutes that brings the times up to
//     date. At most one write a second, whatever changes.
//   - A probe that hangs or panics costs that probe. None runs for longer than two minutes, and those of one namespace
//     have half of the places at most, so that no namespace keeps the probes of another from running.
//
// Whom it trusts: a NodePodProbe names pods, it does not describe them. Every entry is held against the agent's own
// view: a pod of that namespace, name and UID must be on this node and not have ended, and the container must be one
// of its spec. Anything else is refused, and no worker is made. Requests go to the IP in the pod's own status: the
// IP of an entry is not read, and a probe that names a host is refused, so an entry leads to no address but that of
// the pod. A command runs only in a container whose kubelet labels say that it is this container of this pod. So
// entries reach no pod of another node, no other pod under a forged name, and nothing outside of pods. They may be of
// any namespace: the spoke writes there what PodProbeMarkers say of pods in their own, and who else may ask for probes
// says ValidatingAdmissionPolicy flotilla-nodepodprobes (kustomize/nodeagent), which lets through who may create
// PodProbeMarkers in all namespaces, and so could have the same probes run anyway.
//
// Where a probe stands (state), and what moves it:
//
//	(none)     no instance of the container, or a new one -> Unknown
//	Unknown    threshold of equal results -> Succeeded, Failed; not running -> Failed
//	Succeeded  failureThreshold -> Failed; not running -> Failed; new instance, other handler -> Unknown
//	Failed     successThreshold -> Succeeded; new instance, other handler -> Unknown
//
// A liveness probe (a name without #) is Unknown while its container does not run, for the kubelet cares for that.
package probes
