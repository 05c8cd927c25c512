// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// cachedObjects limit what is watched to the pods of one node and what the spoke asks of it, and what is held of them to
// what duties read. Whatever else is read goes past the cache, with the manager's API reader.
func cachedObjects(node string) map[client.Object]cache.ByObject {
	named := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", node)}
	open := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{
		v1beta1.ContainerRecreateRequestNodeNameKey: node, v1beta1.ContainerRecreateRequestActiveKey: "true",
	})}
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:            {Field: fields.OneTermEqualSelector("spec.nodeName", node), Transform: trimPod},
		&v1beta1.NodeImage{}:     named,
		&v1alpha1.NodePodProbe{}: named,

		&v1beta1.ContainerRecreateRequest{}: open,
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
	out.Spec.NodeName, out.Spec.RestartPolicy = pod.Spec.NodeName, pod.Spec.RestartPolicy
	out.Spec.Containers = make([]corev1.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, Env: trimEnv(c)})
	}
	out.Spec.InitContainers = make([]corev1.Container, 0, len(pod.Spec.InitContainers))
	for i := range pod.Spec.InitContainers {
		out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{Name: pod.Spec.InitContainers[i].Name})
	}
	out.Status.PodIP = pod.Status.PodIP
	out.Status.Phase = pod.Status.Phase
	out.Status.Conditions = pod.Status.Conditions
	out.Status.ContainerStatuses = trimStatuses(pod.Status.ContainerStatuses)
	out.Status.InitContainerStatuses = trimStatuses(pod.Status.InitContainerStatuses)
	return out, nil
}

func trimStatuses(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(list))
	for i := range list {
		s := &list[i]
		out = append(out, corev1.ContainerStatus{
			Name: s.Name, ContainerID: s.ContainerID, RestartCount: s.RestartCount,
			State: s.State, LastTerminationState: s.LastTerminationState,
		})
	}
	return out
}

// trimEnv drops the environment of a container in which nothing comes from metadata. Otherwise it stays whole,
// since a later entry overrides one of the same name.
func trimEnv(c *corev1.Container) []corev1.EnvVar {
	if len(containerhash.MetadataRefs(c)) == 0 {
		return nil
	}
	return c.Env
}
