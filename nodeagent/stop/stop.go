// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

const (
	// minGrace is what a container is given after the signal, whatever the hook took.
	minGrace = 2 * time.Second
	// defaultGrace is the grace period of a pod that names none.
	defaultGrace = 30 * time.Second
	// longestNote is in bytes; the API server takes no event with a note of more than 1024.
	longestNote = 1000
)

// Reasons of the events on the pod; they are the kubelet's.
const (
	EventKilling           = "Killing"
	EventFailedPreStopHook = "FailedPreStopHook"
)

// ErrForeign says that the instance belongs to another pod or container than was said.
var ErrForeign = errors.New("the container instance belongs to another pod or container")

// Runtime is what stopping needs of a container runtime.
type Runtime interface {
	// Container returns the container with a bare ID; cri.ErrNotFound when there is none.
	Container(ctx context.Context, id string) (cri.Container, error)
	// ExecSync runs a command in it.
	ExecSync(ctx context.Context, id string, cmd []string, timeout time.Duration) (cri.Exec, error)
	// StopContainer ends it, by force when grace has passed.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
}

// Order says what to stop.
type Order struct {
	// Pod is the pod, its spec whole.
	Pod *corev1.Pod
	// Container is the container's name, ID the bare ID of the instance.
	Container, ID string
	// Grace is the grace period, GraceOf the pod as a rule.
	Grace time.Duration
	// Note is the text of the event.
	Note string
}

// path is the container's place in the pod, as the kubelet names it in events.
func (o *Order) path() string { return "spec.containers{" + o.Container + "}" }

// Outcome is what became of an order.
type Outcome string

// The outcomes.
const (
	// Stopped: the instance ran, and has ended.
	Stopped Outcome = "Stopped"
	// NotRunning: the instance does not run, or the runtime knows it no more; nothing was done.
	NotRunning Outcome = "NotRunning"
	// Undone: it is not known to have ended; the error says why.
	Undone Outcome = "Undone"
)

// Stopper stops container instances. It is safe for use by many goroutines.
type Stopper struct {
	Events events.Publisher
	Now    func() time.Time
}

// GraceOf returns the grace period of a pod.
func GraceOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return seconds.Of(*pod.Spec.TerminationGracePeriodSeconds)
}

// Stop carries out an order and returns when the instance has ended. The error is ErrForeign, the end of ctx, or one of
// package cri; an instance may have got its signal then, and it is right to try again.
func (s *Stopper) Stop(ctx context.Context, runtime Runtime, o Order) (Outcome, error) {
	runs, err := running(ctx, runtime, o)
	if err != nil {
		return Undone, err
	}
	if !runs {
		return NotRunning, nil
	}
	s.Events.Publish(events.Normal(o.Pod, EventKilling, "StopContainer", o.Note).Of(o.path()))
	began := s.Now()
	if hook := hookOf(o); hook != nil && o.Grace > 0 {
		if err := s.preStop(ctx, runtime, o, hook); err != nil {
			return Undone, err
		}
	}
	left := max(o.Grace-s.Now().Sub(began).Truncate(time.Second), minGrace)
	err = runtime.StopContainer(ctx, o.ID, left)
	switch {
	case err == nil, errors.Is(err, cri.ErrNotFound):
		return Stopped, nil
	default:
		return Undone, fmt.Errorf("stop container %s: %w", o.Container, err)
	}
}

// running tells whether the instance runs, by the runtime's word, and makes sure whose it is.
func running(ctx context.Context, runtime Runtime, o Order) (bool, error) {
	c, err := runtime.Container(ctx, o.ID)
	if errors.Is(err, cri.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("container %s: %w", o.Container, err)
	}
	if want := (cri.PodRef{Namespace: o.Pod.Namespace, Name: o.Pod.Name, UID: string(o.Pod.UID)}); c.Pod != want || c.Name != o.Container {
		return false, fmt.Errorf("container %s: %w", o.Container, ErrForeign)
	}
	return c.State == cri.ContainerRunning || c.State == cri.ContainerUnknown, nil
}

// preStop runs the hook. The error is a reason not to stop the container now.
func (s *Stopper) preStop(ctx context.Context, runtime Runtime, o Order, hook *corev1.LifecycleHandler) error {
	bounded, cancel := context.WithTimeout(ctx, o.Grace)
	defer cancel()
	err := runHook(bounded, runtime, o, hook)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("preStop hook of container %s: %w", o.Container, ctx.Err())
	case err == nil, bounded.Err() != nil, errors.Is(err, cri.ErrTimeout):
		return nil
	case errors.Is(err, cri.ErrUnavailable):
		return fmt.Errorf("preStop hook of container %s: %w", o.Container, err)
	default:
		s.Events.Publish(events.Warning(o.Pod, EventFailedPreStopHook, "RunPreStopHook",
			conditions.Cut(fmt.Sprintf("PreStopHook of container %s failed: %v", o.Container, err), longestNote)).Of(o.path()))
		return nil
	}
}

// hookOf returns the container's preStop hook, nil when it has none.
func hookOf(o Order) *corev1.LifecycleHandler {
	c := containerOf(o)
	if c == nil || c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

func containerOf(o Order) *corev1.Container {
	for _, list := range [][]corev1.Container{o.Pod.Spec.Containers, o.Pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == o.Container {
				return &list[i]
			}
		}
	}
	return nil
}
