// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const (
	// labelFake is on every simulated node: kwok plays the kubelet of those alone.
	labelFake = "fake.flotilla.sh/node"
	selector  = labelFake + "=true"
	owner     = "flotilla-clusters"
)

// wantedNodes are the node objects of the i-th member, by name.
func wantedNodes(slot int, o state.Options, i int) map[string]*corev1.Node {
	nodes := map[string]*corev1.Node{}
	for n := 1; n <= o.FakeNodes; n++ {
		name := state.FakeNodeName(i, n)
		labels := map[string]string{
			labelFake:                "true",
			corev1.LabelHostname:     name,
			corev1.LabelOSStable:     "linux",
			corev1.LabelArchStable:   "amd64",
			corev1.LabelInstanceType: "fake",
		}
		maps.Copy(labels, state.TopologyLabels(o.Zones, i, n))
		nodes[name] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status:     nodeStatus(name, state.FakeNodeIP(slot, i, n)),
		}
	}
	return nodes
}

// nodeStatus is what a simulated node says of itself when it joins. It is large enough never to be what stops a pod.
func nodeStatus(name, ip string) corev1.NodeStatus {
	size := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1k"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return corev1.NodeStatus{
		Capacity:    size,
		Allocatable: size,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: ip},
			{Type: corev1.NodeHostName, Address: name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: "fake", ContainerRuntimeVersion: "containerd://fake", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
}

// ensureNodes makes the nodes that are missing, corrects labels and deletes nodes that are not wanted any more.
func ensureNodes(ctx context.Context, client kubernetes.Interface, want map[string]*corev1.Node) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	have := map[string]corev1.Node{}
	for _, node := range list.Items {
		have[node.Name] = node
	}
	var errs []error
	for name, node := range want {
		if old, there := have[name]; !there {
			_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: owner})
			errs = append(errs, err)
		} else if !contains(old.Labels, node.Labels) {
			apply := corev1apply.Node(name).WithLabels(node.Labels)
			_, err := client.CoreV1().Nodes().Apply(ctx, apply, metav1.ApplyOptions{FieldManager: owner, Force: true})
			errs = append(errs, err)
		}
	}
	for name := range have {
		if _, wanted := want[name]; !wanted {
			errs = append(errs, client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
		}
	}
	return errors.Join(errs...)
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// dropLeases deletes the nodes' leases. A kwok that starts takes a node over only once the lease of the one before, which
// is dead, has run out.
func dropLeases(ctx context.Context, client kubernetes.Interface, nodes map[string]*corev1.Node) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	list, err := leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, lease := range list.Items {
		if _, ours := nodes[lease.Name]; !ours {
			continue
		}
		if err := leases.Delete(ctx, lease.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// awaitReady waits until every node is ready and can be scheduled to.
func awaitReady(ctx context.Context, client kubernetes.Interface, count int) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		ready := 0
		for _, node := range list.Items {
			if reason := notReady(&node); reason != "" {
				last = fmt.Errorf("node %s %s", node.Name, reason)
			} else {
				ready++
			}
		}
		return ready >= count, nil
	})
	return errors.Join(err, errIf(err != nil, last))
}

func errIf(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}

// notReady says why pods cannot run on the node; it is empty if they can.
func notReady(node *corev1.Node) string {
	if node.Annotations["fake.flotilla.sh/not-ready"] == "true" {
		return ""
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
			return "has the taint " + taint.Key
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return ""
		}
	}
	return "is not ready"
}
