// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// podsOf returns the pods of the workload in all members.
func podsOf(ctx context.Context, ns string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for _, member := range fleet.Members {
		pods, err := member.Pods(ctx, ns, "web")
		if err != nil {
			return nil, err
		}
		all = append(all, pods...)
	}
	return all, nil
}

// untilReady waits until the members have exactly n pods, all ready with the image, and returns them.
func untilReady(ctx context.Context, ns string, n int, image string) map[types.UID]corev1.Pod {
	GinkgoHelper()
	var pods []corev1.Pod
	Eventually(ctx, func() (string, error) {
		var err error
		pods, err = podsOf(ctx, ns)
		return fmt.Sprintf("%d pods, %d ready", len(pods), harness.CountReady(pods, image)), err
	}).Should(Equal(fmt.Sprintf("%d pods, %d ready", n, n)))
	return harness.ByUID(pods)
}

// untilSummed waits until the hub's status says that all n pods are updated and ready.
func untilSummed(ctx context.Context, ns string, n int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ud := get(ctx, g, ns)
		s := ud.Status
		g.Expect([]int32{s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.UpdatedReadyReplicas}).To(Equal([]int32{n, n, n, n}))
		g.Expect(s.ObservedGeneration).To(Equal(ud.Generation))
		placed := conditions.FindCompat(s.Conditions, fleetv1alpha1.ConditionFleetPlaced)
		g.Expect(placed).NotTo(BeNil())
		g.Expect(placed.Status).To(Equal(corev1.ConditionTrue), placed.Message)
	}).Should(Succeed())
}

func get(ctx context.Context, g Gomega, ns string) *appsv1beta1.UnitedDeployment {
	ud := &appsv1beta1.UnitedDeployment{}
	g.Expect(fleet.Hub.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, ud)).To(Succeed())
	return ud
}

// change updates the workload on the hub, trying again when somebody else wrote in between.
func change(ctx context.Context, ns string, mutate func(*appsv1beta1.UnitedDeployment)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			ud := &appsv1beta1.UnitedDeployment{}
			if err := fleet.Hub.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, ud); err != nil {
				return err
			}
			mutate(ud)
			return fleet.Hub.Update(ctx, ud)
		})
	}, soon).Should(Succeed()) // the webhook may be restarting
}

func setImage(image string) func(*appsv1beta1.UnitedDeployment) {
	return func(ud *appsv1beta1.UnitedDeployment) {
		ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = image
	}
}

func setReplicas(n int32) func(*appsv1beta1.UnitedDeployment) {
	return func(ud *appsv1beta1.UnitedDeployment) { ud.Spec.Replicas = &n }
}

// expectInPlace checks that the pods are the same ones, each with one more restart.
func expectInPlace(before, after map[types.UID]corev1.Pod) {
	GinkgoHelper()
	Expect(after).To(HaveLen(len(before)))
	for uid, pod := range after {
		old, ok := before[uid]
		Expect(ok).To(BeTrue(), "pod %s is new", pod.Name)
		Expect(pod.Spec.NodeName).To(Equal(old.Spec.NodeName))
		Expect(pod.Status.PodIP).To(Equal(old.Status.PodIP))
		now, then := pod.Status.ContainerStatuses[0], old.Status.ContainerStatuses[0]
		Expect(now.RestartCount).To(Equal(then.RestartCount+1), "pod %s", pod.Name)
		Expect(now.ContainerID).NotTo(Equal(then.ContainerID))
	}
}

// conditionOf returns "Status/Reason" of a placement's condition.
func conditionOf(ctx context.Context, ns, conditionType string) func() (string, error) {
	return func() (string, error) {
		p := &fleetv1alpha1.FleetPlacement{}
		if err := fleet.Hub.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, p); err != nil {
			return "", err
		}
		c := conditions.Find(p.Status.Conditions, conditionType)
		if c == nil {
			return "absent", nil
		}
		return string(c.Status) + "/" + c.Reason, nil
	}
}
