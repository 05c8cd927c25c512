// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// cachedObjects limit what is watched to the pods and the NodeImage of one node, and what is held of them to what duties read.
// Whatever else is read goes past the cache, with the manager's API reader.
func cachedObjects(node string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:        {Field: fields.OneTermEqualSelector("spec.nodeName", node), Transform: trimPod},
		&v1beta1.NodeImage{}: {Field: fields.OneTermEqualSelector("metadata.name", node)},
	}
}

// trimPod keeps of a pod what duties read; the rest is most of its size. What comes out must never be written
// back whole, only patched.
func trimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("trim: %T is not a Pod", obj)
	}
	out := &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: pod.ObjectMeta}
	out.ManagedFields = nil
	out.Spec.NodeName = pod.Spec.NodeName
	out.Spec.Containers = make([]corev1.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Env: trimEnv(c)})
	}
	out.Status.Phase = pod.Status.Phase
	out.Status.Conditions = pod.Status.Conditions
	out.Status.ContainerStatuses = make([]corev1.ContainerStatus, 0, len(pod.Status.ContainerStatuses))
	for _, s := range pod.Status.ContainerStatuses {
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: s.Name, ContainerID: s.ContainerID, RestartCount: s.RestartCount,
			State: s.State, LastTerminationState: s.LastTerminationState,
		})
	}
	return out, nil
}

// trimEnv drops the environment of a container in which nothing comes from metadata. Otherwise it stays whole,
// since a later entry overrides one of the same name.
func trimEnv(c *corev1.Container) []corev1.EnvVar {
	if len(containerhash.MetadataRefs(c)) == 0 {
		return nil
	}
	return c.Env
}
