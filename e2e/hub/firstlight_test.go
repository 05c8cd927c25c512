// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

var _ = Describe("One UnitedDeployment over two clusters", Label("uniteddeployment"), func() {
	It("runs in the right zones, scales, and updates in place", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 8))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		untilReady(ctx, ns, 8, imageV1)

		By("sharing evenly over clusters and zones")
		for _, member := range fleet.Members {
			zones := map[string]int{}
			pods, err := member.Pods(ctx, ns, "web")
			Expect(err).NotTo(HaveOccurred())
			for _, pod := range pods {
				var node corev1.Node
				Expect(member.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node)).To(Succeed())
				Expect(pod.Labels[appsv1beta1.SubsetNameLabel]).To(Equal("zone-" + node.Labels[harness.ZoneLabel]))
				zones[node.Labels[harness.ZoneLabel]]++
			}
			Expect(zones).To(Equal(map[string]int{"a": 2, "b": 2}), member.Name)
		}
		untilSummed(ctx, ns, 8)

		By("scaling out without touching what runs")
		before := untilReady(ctx, ns, 8, imageV1)
		change(ctx, ns, setReplicas(13))
		after := untilReady(ctx, ns, 13, imageV1)
		for uid := range before {
			Expect(after).To(HaveKey(uid))
		}

		By("updating in place")
		change(ctx, ns, setImage(imageV2))
		expectInPlace(after, untilReady(ctx, ns, 13, imageV2))
		untilSummed(ctx, ns, 13)
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionFleetProgressing)).Should(HavePrefix("False/"))
	}, SpecTimeout(5*time.Minute))

	It("follows an Open Cluster Management placement", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(createPlacementRef(ctx, ns, "region-2")).To(Succeed())
		Expect(fleet.Hub.Create(ctx, web(ns, 4))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns, func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.ClusterNames, s.PlacementRef = nil, &fleetv1alpha1.PlacementReference{Name: "prod"}
		}))).To(Succeed())
		untilReady(ctx, ns, 4, imageV1)
		pods, err := fleet.Members[1].Pods(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(4))
	}, SpecTimeout(5*time.Minute))

	It("keeps to manual partitions, summed over clusters", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 8))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		before := untilReady(ctx, ns, 8, imageV1)
		change(ctx, ns, func(ud *appsv1beta1.UnitedDeployment) {
			setImage(imageV2)(ud)
			ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"zone-a": 3, "zone-b": 4}}
		})
		Eventually(ctx, func() (int, error) {
			pods, err := podsOf(ctx, ns)
			return harness.CountReady(pods, imageV2), err
		}).Should(Equal(1))
		Eventually(ctx, func(g Gomega) { g.Expect(get(ctx, g, ns).Status.UpdatedReadyReplicas).To(Equal(int32(1))) }).Should(Succeed())
		Consistently(ctx, func() (int, error) {
			pods, err := podsOf(ctx, ns)
			return harness.CountReady(pods, imageV1), err
		}, 3*time.Second).Should(Equal(7))
		change(ctx, ns, func(ud *appsv1beta1.UnitedDeployment) { ud.Spec.UpdateStrategy.ManualUpdate.Partitions = nil })
		expectInPlace(before, untilReady(ctx, ns, 8, imageV2))
	}, SpecTimeout(5*time.Minute))

	DescribeTable("leaves the members", func(ctx SpecContext, policy fleetv1alpha1.DeletionPolicy, left int) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 4))).To(Succeed())
		p := placement(ns, func(s *fleetv1alpha1.FleetPlacementSpec) { s.DeletionPolicy = policy })
		Expect(fleet.Hub.Create(ctx, p)).To(Succeed())
		before := untilReady(ctx, ns, 4, imageV1)
		Expect(fleet.Hub.Delete(ctx, p)).To(Succeed())
		Eventually(ctx, func() error {
			return fleet.Hub.Get(ctx, client.ObjectKeyFromObject(p), &fleetv1alpha1.FleetPlacement{})
		}).Should(MatchError(ContainSubstring("not found")))
		Eventually(ctx, func() (int, error) { pods, err := podsOf(ctx, ns); return len(pods), err }).Should(Equal(left))
		if left == 0 {
			return
		}
		after, err := podsOf(ctx, ns)
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range after {
			Expect(before).To(HaveKey(pod.UID))
		}
		for _, member := range fleet.Members {
			ud := &appsv1beta1.UnitedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
			Expect(member.Get(ctx, client.ObjectKeyFromObject(ud), ud)).To(Succeed())
			Expect(ud.Labels).NotTo(HaveKey(fleetv1alpha1.SliceLabel))
		}
	},
		Entry("empty with Cascade", fleetv1alpha1.DeletionCascade, 0, SpecTimeout(4*time.Minute)),
		Entry("as they are with Orphan", fleetv1alpha1.DeletionOrphan, 4, SpecTimeout(4*time.Minute)),
	)
})
