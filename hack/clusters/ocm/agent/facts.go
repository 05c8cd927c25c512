// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

// slimNode keeps of a node what is reported, to hold little in memory.
func slimNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, ResourceVersion: node.ResourceVersion, UID: node.UID},
		Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable},
	}, nil
}

// matters says whether a change is worth a pass: heartbeats of nodes are not.
func matters(before, after any) bool {
	a, okA := before.(*corev1.Node)
	b, okB := after.(*corev1.Node)
	if !okA || !okB {
		return true
	}
	return !maps.Equal(a.Labels, b.Labels) ||
		a.Spec.Unschedulable != b.Spec.Unschedulable ||
		!equality.Semantic.DeepEqual(a.Status, b.Status)
}

// sumNodes adds nodes up; allocatable leaves out nodes that are unschedulable.
func sumNodes(nodes []corev1.Node) (capacity, allocatable clusterv1.ResourceList) {
	capacity, allocatable = clusterv1.ResourceList{}, clusterv1.ResourceList{}
	for i := range nodes {
		add(capacity, nodes[i].Status.Capacity)
		if !nodes[i].Spec.Unschedulable {
			add(allocatable, nodes[i].Status.Allocatable)
		}
	}
	return capacity, allocatable
}

func add(sum clusterv1.ResourceList, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[clusterv1.ResourceName(name)]
		total.Add(quantity)
		sum[clusterv1.ResourceName(name)] = total
	}
}
