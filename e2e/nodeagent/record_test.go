// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"encoding/json"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// record is what CRI and the API say of one pod.
type record struct {
	node, ip string
	// running are the container ids by container name, from CRI.
	running map[string]string
	// attempts are the highest attempts by container name, from CRI.
	attempts map[string]int
	// restarts are counted by the kubelet, by container name.
	restarts map[string]int32
	// reported are the container ids by container name, from the node agent's annotation.
	reported map[string]string
}

func recordOf(ctx context.Context, g Gomega, pod *corev1.Pod) record {
	r := record{node: pod.Spec.NodeName, ip: pod.Status.PodIP, running: map[string]string{}, attempts: map[string]int{},
		restarts: map[string]int32{}, reported: map[string]string{}}
	containers, err := fleet.Containers(ctx, pod.Spec.NodeName)
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range containers {
		if c.PodUID != string(pod.UID) {
			continue
		}
		r.attempts[c.Name] = max(r.attempts[c.Name], c.Attempt)
		if c.Running {
			r.running[c.Name] = c.ID
		}
	}
	for i := range pod.Status.ContainerStatuses {
		r.restarts[pod.Status.ContainerStatuses[i].Name] = pod.Status.ContainerStatuses[i].RestartCount
	}
	var meta appsv1beta1.RuntimeContainerMetaSet
	g.Expect(json.Unmarshal([]byte(pod.Annotations[appsv1beta1.RuntimeContainerMetaKey]), &meta)).To(Succeed(), pod.Name)
	for _, c := range meta.Containers {
		r.reported[c.Name] = c.ContainerID
	}
	g.Expect(r.reported).To(Equal(r.running), "the node agent reports what runs in %s", pod.Name)
	return r
}
