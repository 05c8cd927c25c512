//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// badImage never starts.
const badImage = "bad"

// fakeNodes play scheduler and kubelet: they bind pods, run what the spec says with a new image and
// container id whenever the image changes, follow the readiness gates and remove terminated pods.
type fakeNodes struct{ client client.Client }

func startFakeNodes() *fakeNodes {
	mgr := newManager("fake-nodes")
	n := &fakeNodes{client: mgr.GetClient()}
	Expect(ctrl.NewControllerManagedBy(mgr).Named("fake-nodes").For(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), n))).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	DeferCleanup(cancel)
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return n
}

func (n *fakeNodes) Reconcile(ctx context.Context, pod *corev1.Pod) (reconcile.Result, error) {
	var err error
	switch {
	case pod.DeletionTimestamp != nil:
		if len(pod.Finalizers) == 0 {
			err = n.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
		}
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
	case pod.Spec.NodeName == "":
		err = n.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}})
	default:
		err = n.run(ctx, pod)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: 10 * time.Millisecond}, nil
	}
	return reconcile.Result{}, err
}

func (n *fakeNodes) run(ctx context.Context, pod *corev1.Pod) error {
	after := pod.DeepCopy()
	after.Status.Phase = corev1.PodRunning
	ready := true
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if i >= len(after.Status.ContainerStatuses) {
			after.Status.ContainerStatuses = append(after.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, RestartCount: -1})
		}
		status := &after.Status.ContainerStatuses[i]
		if status.Image != c.Image {
			status.Image, status.ImageID = c.Image, "sha256:"+hash(c.Image)
			status.RestartCount++
			status.ContainerID = "fake://" + string(pod.UID) + "-" + c.Name + "-" + strconv.Itoa(int(status.RestartCount))
		}
		status.Resources = c.Resources.DeepCopy()
		status.Ready = !strings.Contains(c.Image, badImage)
		ready = ready && status.Ready
	}
	setCondition(after, corev1.ContainersReady, ready)
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && isTrue(pod, gate.ConditionType)
	}
	setCondition(after, corev1.PodReady, ready)
	return client.IgnoreNotFound(n.client.Status().Patch(ctx, after, client.StrategicMergeFrom(pod)))
}

func hash(text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 16)
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, metav1.Now()
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()})
}
