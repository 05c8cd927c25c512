// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// roomLabel is on nodes that have room for a test's second subset.
const roomLabel = "e2e.flotilla.sh/room"

// scheduled makes a UnitedDeployment of three subsets with the Adaptive schedule: the first two take two pods each, the
// second one on nodes that do not exist yet.
func scheduled(ctx context.Context, replicas int32) *appsv1beta1.UnitedDeployment {
	GinkgoHelper()
	ns := namespace(ctx)
	labels := map[string]string{"app": "web"}
	on := func(values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: roomLabel, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	two := ptr.To(intstr.FromInt32(2))
	ud := &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: appsv1beta1.CloneSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To(int64(1)), Containers: []corev1.Container{{Name: "web", Image: "web:v1"}}},
				}},
			}},
			Topology: appsv1beta1.Topology{
				Subsets: []appsv1beta1.Subset{{Name: "first", MaxReplicas: two}, {Name: "second", MaxReplicas: two, NodeSelectorTerm: on(ns)}, {Name: "third"}},
				ScheduleStrategy: appsv1beta1.UnitedDeploymentScheduleStrategy{
					Type:     appsv1beta1.AdaptiveUnitedDeploymentScheduleStrategyType,
					Adaptive: &appsv1beta1.AdaptiveUnitedDeploymentStrategy{RescheduleCriticalSeconds: ptr.To[int32](3), UnschedulableDuration: ptr.To[int32](3600)},
				},
			},
		},
	}
	Expect(member.Create(ctx, ud)).To(Succeed())
	return ud
}

// editSpec changes a UnitedDeployment.
func editSpec(ctx context.Context, ud *appsv1beta1.UnitedDeployment, change func(*appsv1beta1.UnitedDeploymentSpec)) {
	GinkgoHelper()
	Expect(member.Get(ctx, client.ObjectKeyFromObject(ud), ud)).To(Succeed())
	base := client.MergeFrom(ud.DeepCopy())
	change(&ud.Spec)
	Expect(member.Patch(ctx, ud, base)).To(Succeed())
}

// shares are the ready pods of each subset, the others beside them, and which subset cannot schedule.
func shares(ctx context.Context, ud *appsv1beta1.UnitedDeployment) func() (string, error) {
	return func() (string, error) {
		now := &appsv1beta1.UnitedDeployment{}
		if err := member.Get(ctx, client.ObjectKeyFromObject(ud), now); err != nil {
			return "", err
		}
		list, err := member.Pods(ctx, ud.Namespace, "web")
		if err != nil {
			return "", err
		}
		ready := map[string]int{}
		others := 0
		for i := range list {
			if list[i].Spec.NodeName == "" {
				others++
			} else {
				ready[list[i].Labels[appsv1beta1.SubsetNameLabel]]++
			}
		}
		out := fmt.Sprintf("%d %d %d, %d waiting", ready["first"], ready["second"], ready["third"], others)
		for _, s := range now.Status.SubsetStatuses {
			for _, c := range s.Conditions {
				if c.Status == corev1.ConditionFalse {
					out += fmt.Sprintf(", %s not %s", s.Name, c.Type)
				}
			}
		}
		return out, nil
	}
}

var _ = Describe("A UnitedDeployment with the Adaptive schedule", Label("spread", "uniteddeployment", "workloads"), func() {
	It("moves replicas away from a subset whose pods find no node, and back when it is tried again", func(ctx SpecContext) {
		ud := scheduled(ctx, 3)
		scale := func(n int32) {
			GinkgoHelper()
			editSpec(ctx, ud, func(spec *appsv1beta1.UnitedDeploymentSpec) { spec.Replicas = &n })
		}
		reaches := func(want string) {
			GinkgoHelper()
			Eventually(ctx, shares(ctx, ud)).WithTimeout(soon).Should(Equal(want))
		}
		reaches("2 0 1, 0 waiting, second not Schedulable")
		scale(5)
		reaches("2 0 3, 0 waiting, second not Schedulable")
		scale(4)
		reaches("2 0 2, 0 waiting, second not Schedulable")

		By("nodes with room: nothing moves before it is tried again")
		list := &corev1.NodeList{}
		Expect(member.List(ctx, list)).To(Succeed())
		node := &list.Items[0]
		base := client.MergeFrom(node.DeepCopy())
		node.Labels[roomLabel] = ud.Namespace
		Expect(member.Patch(ctx, node, base)).To(Succeed())
		Consistently(ctx, shares(ctx, ud)).WithTimeout(2 * time.Second).Should(Equal("2 0 2, 0 waiting, second not Schedulable"))
		editSpec(ctx, ud, func(spec *appsv1beta1.UnitedDeploymentSpec) {
			spec.Topology.ScheduleStrategy.Adaptive.UnschedulableDuration = ptr.To[int32](0)
		})
		reaches("2 0 2, 0 waiting")
		scale(5)
		reaches("2 1 2, 0 waiting")
		scale(7)
		reaches("2 2 3, 0 waiting")
		scale(3)
		reaches("2 1 0, 0 waiting")
	}, SpecTimeout(6*time.Minute))
})

var _ = Describe("A UnitedDeployment of StatefulSets", Label("spread", "uniteddeployment", "workloads"), func() {
	It("updates them as far as their partitions let it, and gets out of an image that cannot be had", func(ctx SpecContext) {
		labels := map[string]string{"app": "web"}
		ud := &appsv1beta1.UnitedDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace(ctx), Name: "web"},
			Spec: appsv1beta1.UnitedDeploymentSpec{
				Replicas: ptr.To[int32](4), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: appsv1beta1.SubsetTemplate{StatefulSetTemplate: &appsv1beta1.StatefulSetTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec: appsv1.StatefulSetSpec{
						Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "web",
						Template: corev1.PodTemplateSpec{
							ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"fake.flotilla.sh/failing-images": "web:none"}},
							Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To(int64(1)), Containers: []corev1.Container{{Name: "web", Image: "web:v1"}}},
						},
					},
				}},
				Topology: appsv1beta1.Topology{Subsets: []appsv1beta1.Subset{{Name: "a"}, {Name: "b"}}},
			},
		}
		Expect(member.Create(ctx, ud)).To(Succeed())
		untilImages(ctx, ud.Namespace, 4, 0)
		update := func(image string, partition int32) {
			GinkgoHelper()
			editSpec(ctx, ud, func(spec *appsv1beta1.UnitedDeploymentSpec) {
				spec.Template.StatefulSetTemplate.Spec.Template.Spec.Containers[0].Image = image
				spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": partition}}
			})
		}
		update("web:none", 1)
		Eventually(ctx, func() (int, error) {
			list, err := member.Pods(ctx, ud.Namespace, "web")
			n := 0
			for i := range list {
				if list[i].Spec.Containers[0].Image == "web:none" {
					n++
				}
			}
			return n, err
		}).WithTimeout(soon).Should(Equal(2), "one of each: the next waits for it")
		update("web:v2", 1)
		untilImages(ctx, ud.Namespace, 1, 3)
		update("web:v2", 0)
		untilImages(ctx, ud.Namespace, 0, 4)
	}, SpecTimeout(6*time.Minute))
})
