// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// readyTimeout bounds the wait for a node to be Ready once its kubelet runs.
const readyTimeout = 2 * time.Minute

// awaitReady waits until the node's cluster sees it Ready.
func (n node) awaitReady(ctx context.Context, c *state.Cluster) error {
	client, err := n.client(c)
	if err != nil {
		return err
	}
	last := "it did not register"
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		object, err := client.CoreV1().Nodes().Get(ctx, n.name(), metav1.GetOptions{})
		if err != nil {
			last = err.Error()
			return false, nil
		}
		var ready bool
		ready, last = readiness(object)
		return ready, nil
	})
	if err != nil {
		return fmt.Errorf("node %s is not ready (see logs %s): %s", n.name(), n.kubeletName(), last)
	}
	return nil
}

func readiness(object *corev1.Node) (ready bool, why string) {
	for _, c := range object.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue, c.Message
		}
	}
	return false, "it has no condition Ready yet"
}

// deleteObject deletes the Node, if it is there.
func (n node) deleteObject(ctx context.Context, c *state.Cluster) error {
	client, err := n.client(c)
	if err != nil {
		return err
	}
	err = client.CoreV1().Nodes().Delete(ctx, n.name(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (n node) client(c *state.Cluster) (kubernetes.Interface, error) {
	config, err := controlplane.RESTConfig(c, state.MemberName(n.member))
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
