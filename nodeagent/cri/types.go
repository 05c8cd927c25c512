// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"errors"
	"strings"
	"time"
)

// Errors by which callers decide; test with errors.Is.
var (
	// ErrUnavailable: there is no connection to the runtime at present; it is worth trying again later.
	ErrUnavailable = errors.New("container runtime unavailable")
	// ErrNotFound: the runtime knows no such container (any more).
	ErrNotFound = errors.New("not known to the container runtime")
	// ErrUnsupported: this runtime does not have the called function.
	ErrUnsupported = errors.New("not supported by the container runtime")
	// ErrTimeout: the runtime answers, and says that the command did not end in time. A runtime that does not
	// answer at all is no ErrTimeout: it tells nothing of the command.
	ErrTimeout = errors.New("the command did not end in time")
	// ErrTooLarge: the command wrote more than may be read of it; how it ended is not known.
	ErrTooLarge = errors.New("output too large")
)

// Annotations that the kubelet puts on the containers it makes.
const (
	// AnnotationContainerHash holds the kubelet's hash of the container's spec, an uint64 in base 16.
	AnnotationContainerHash = "io.kubernetes.container.hash"
)

// Labels that the kubelet puts on the sandboxes and containers it makes.
const (
	labelPodName      = "io.kubernetes.pod.name"
	labelPodNamespace = "io.kubernetes.pod.namespace"
	labelPodUID       = "io.kubernetes.pod.uid"
)

// Version says which runtime answers.
type Version struct {
	// Name is the runtime's name, the part before :// in the container IDs of pods, for example containerd.
	Name string
	// Version is the runtime's own version.
	Version string
}

// ContainerState is the state of one container instance.
type ContainerState string

// The states of a container.
const (
	ContainerCreated ContainerState = "Created"
	ContainerRunning ContainerState = "Running"
	ContainerExited  ContainerState = "Exited"
	ContainerUnknown ContainerState = "Unknown"
)

// PodRef names the pod that a sandbox or container belongs to; empty for what the kubelet did not make.
type PodRef struct {
	Namespace, Name, UID string
}

// Container is one container instance as the runtime sees it.
type Container struct {
	// ID is the bare ID, without the runtime's name.
	ID string
	// Name is the container's name in its pod.
	Name  string
	Pod   PodRef
	State ContainerState
	// Attempt counts the instances of the container before this one in its sandbox.
	Attempt uint32
	// CreatedAt is when the instance was made.
	CreatedAt time.Time
	// StartedAt is zero for a container that was never started, and in lists.
	StartedAt time.Time
	// Annotations are those the kubelet made the container with.
	Annotations map[string]string
}

// Sandbox is one pod sandbox.
type Sandbox struct {
	ID    string
	Pod   PodRef
	Ready bool
}

// Exec is what a command that ended left behind. A command that failed is no error of the call.
type Exec struct {
	Stdout, Stderr []byte
	ExitCode       int32
}

// SplitID takes a container ID of a pod's status (containerd://abc) apart into the runtime's name and the ID
// the runtime knows it by; ok is false when id has no such form.
func SplitID(id string) (runtime, bare string, ok bool) {
	runtime, bare, ok = strings.Cut(id, "://")
	return runtime, bare, ok && runtime != "" && bare != ""
}
