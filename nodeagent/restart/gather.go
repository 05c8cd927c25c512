// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

// Runtime is what restarting needs of a container runtime.
type Runtime interface {
	stop.Runtime
	// ContainersOfPod lists the instances of a pod's containers, the newest first.
	ContainersOfPod(ctx context.Context, uid string) ([]cri.Container, error)
}

// unsupported returns why a request cannot be carried out with the runtime of the node, nil when it can.
func unsupported(r *Request, name string) error {
	for i := range r.Spec.Containers {
		c := &r.Spec.Containers[i]
		if c.StatusContext == nil {
			return fmt.Errorf("failed to find runtime service: container %s has no statusContext, which admission fills in", c.Name)
		}
		scheme, _, ok := cri.SplitID(c.StatusContext.ContainerID)
		if !ok || scheme != name {
			return fmt.Errorf("failed to find runtime service: container %s was %q, and the runtime of the node is %s", c.Name, c.StatusContext.ContainerID, name)
		}
	}
	return nil
}

// gather asks the runtime, whose name is given, for the newest instances of the containers of a request. What bears the
// pod's UID but another name is not the kubelet's and is passed over.
func gather(ctx context.Context, runtime Runtime, name string, r *Request, pod *corev1.Pod) (Facts, error) {
	f := Facts{Newest: map[string]Instance{}, Waiting: waitingIn(pod), Over: overIn(pod)}
	list, err := runtime.ContainersOfPod(ctx, string(pod.UID))
	if err != nil {
		return f, err
	}
	ours := cri.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
	for i := range r.Spec.Containers {
		for j := range list {
			if list[j].Name != r.Spec.Containers[i].Name || list[j].Pod != ours {
				continue
			}
			status, err := runtime.Container(ctx, list[j].ID)
			if errors.Is(err, cri.ErrNotFound) {
				continue
			}
			if err != nil {
				return f, err
			}
			f.Newest[status.Name] = Instance{
				ID: name + "://" + status.ID, State: status.State, Attempt: int32(status.Attempt), StartedAt: status.StartedAt,
			}
			break
		}
	}
	return f, nil
}
