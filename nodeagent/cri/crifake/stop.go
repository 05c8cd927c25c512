// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crifake

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Stop is one order to stop a running container.
type Stop struct {
	ID string
	// Grace is how long the container was given.
	Grace time.Duration
}

// End makes a container end, as by itself.
func (r *Runtime) End(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.containers[id].state = criapi.ContainerState_CONTAINER_EXITED
}

// Stops returns the orders to stop containers that ran, in their order.
func (r *Runtime) Stops() []Stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stops)
}

// ListContainers implements CRI with the filter by labels alone.
func (r *Runtime) ListContainers(_ context.Context, req *criapi.ListContainersRequest) (*criapi.ListContainersResponse, error) {
	defer r.called("ListContainers")()
	out := &criapi.ListContainersResponse{}
	for _, c := range r.containers {
		if subset(req.GetFilter().GetLabelSelector(), c.labels()) {
			out.Containers = append(out.Containers, &criapi.Container{
				Id: c.id, Metadata: c.metadata(), State: c.state, CreatedAt: c.made, Labels: c.labels(), Annotations: c.annotations(),
			})
		}
	}
	return out, nil
}

// StopContainer implements CRI. As in containerd, one that ended or is not known is no error.
func (r *Runtime) StopContainer(ctx context.Context, req *criapi.StopContainerRequest) (*criapi.StopContainerResponse, error) {
	c := r.order(req)
	if c == nil {
		return &criapi.StopContainerResponse{}, nil
	}
	if c.OnStop != nil {
		c.OnStop(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	r.End(c.id)
	return &criapi.StopContainerResponse{}, nil
}

// order notes an order to stop and returns the container, nil when it does not run.
func (r *Runtime) order(req *criapi.StopContainerRequest) *instance {
	defer r.called("StopContainer")()
	c, ok := r.containers[req.GetContainerId()]
	if !ok || c.state != criapi.ContainerState_CONTAINER_RUNNING {
		return nil
	}
	r.stops = append(r.stops, Stop{ID: c.id, Grace: time.Duration(req.GetTimeout()) * time.Second})
	return c
}

func subset(part, whole map[string]string) bool {
	for key, value := range part {
		if whole[key] != value {
			return false
		}
	}
	return true
}
