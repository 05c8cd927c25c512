// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ZoneLabel is the node label of a zone.
const ZoneLabel = "topology.kubernetes.io/zone"

// Pods lists the pods of an app in a namespace that are not being deleted.
func (c *Cluster) Pods(ctx context.Context, namespace, app string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": app}); err != nil {
		return nil, err
	}
	out := list.Items[:0]
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			out = append(out, pod)
		}
	}
	return out, nil
}

// ByUID maps the pods by uid.
func ByUID(pods []corev1.Pod) map[types.UID]corev1.Pod {
	out := make(map[types.UID]corev1.Pod, len(pods))
	for _, pod := range pods {
		out[pod.UID] = pod
	}
	return out
}

// Ready tells whether a pod is ready and its first container is to run the image.
func Ready(pod *corev1.Pod, image string) bool {
	if pod.Spec.Containers[0].Image != image {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// CountReady counts the pods that are ready and whose first container has started with the image. A pod that was just
// given another image is still ready with the one before. Runtimes may name an image otherwise: for simulated nodes.
func CountReady(pods []corev1.Pod, image string) int {
	n := 0
	for i := range pods {
		started := pods[i].Status.ContainerStatuses
		if Ready(&pods[i], image) && len(started) > 0 && started[0].Image == image {
			n++
		}
	}
	return n
}
