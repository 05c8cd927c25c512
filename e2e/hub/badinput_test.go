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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

func keyOf(ns string) client.ObjectKey { return client.ObjectKey{Namespace: ns, Name: "web"} }

var _ = Describe("Bad input", Label("validation"), func() {
	DescribeTable("of a workload is refused, naming the field", func(ctx SpecContext, spoil func(*appsv1beta1.UnitedDeploymentSpec), parts ...string) {
		ns := namespace(ctx)
		ud := web(ns, 4)
		spoil(&ud.Spec)
		err := fleet.Hub.Create(ctx, ud)
		Expect(err).To(HaveOccurred())
		for _, part := range parts {
			Expect(err.Error()).To(ContainSubstring(part))
		}
	},
		Entry("matchFields on the hub", func(s *appsv1beta1.UnitedDeploymentSpec) {
			s.Topology.Subsets[0].NodeSelectorTerm.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}}
		}, "spec.topology.subsets[0].nodeSelectorTerm.matchFields"),
		Entry("minReplicas above maxReplicas", func(s *appsv1beta1.UnitedDeploymentSpec) {
			s.Topology.Subsets[0].MinReplicas, s.Topology.Subsets[0].MaxReplicas = ptr.To(intstr.FromInt32(3)), ptr.To(intstr.FromInt32(2))
		}, "spec.topology.subsets[0].minReplicas"),
		Entry("negative replicas", func(s *appsv1beta1.UnitedDeploymentSpec) { s.Replicas = ptr.To(int32(-1)) }, "spec.replicas"),
	)

	DescribeTable("of a placement is refused, naming the field", func(ctx SpecContext, spoil func(*fleetv1alpha1.FleetPlacementSpec), parts ...string) {
		ns := namespace(ctx)
		err := fleet.Hub.Create(ctx, placement(ns, spoil))
		Expect(err).To(HaveOccurred())
		for _, part := range parts {
			Expect(err.Error()).To(ContainSubstring(part))
		}
	},
		Entry("negative weight", func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.Division.Weights = []fleetv1alpha1.ClusterWeight{{Weight: -1}}
		}, "spec.division.weights[0].weight"),
		Entry("clusters named twice over", func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.ClusterSelector = &metav1.LabelSelector{}
		}, "exactly one of spec.placementRef, spec.clusterSelector and spec.clusterNames"),
	)

	It("two placements for one target: the younger is refused", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 2))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns))).To(Succeed())
		untilReady(ctx, ns, 2, imageV1)
		second := placement(ns)
		second.Name = "web-2"
		Expect(fleet.Hub.Create(ctx, second)).To(MatchError(And(ContainSubstring("spec.targetRef"), ContainSubstring("web"))))
	})

	It("unknown clusters show in a condition, the known ones are served", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 2))).To(Succeed())
		Expect(fleet.Hub.Create(ctx, placement(ns, func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.ClusterNames = []string{"member-1", "atlantis"}
		}))).To(Succeed())
		Eventually(ctx, conditionOf(ctx, ns, fleetv1alpha1.ConditionResolved)).Should(Equal("False/UnknownClusters"))
		p := &fleetv1alpha1.FleetPlacement{}
		Expect(fleet.Hub.Get(ctx, keyOf(ns), p)).To(Succeed())
		Expect(conditions.Find(p.Status.Conditions, fleetv1alpha1.ConditionResolved).Message).To(ContainSubstring("atlantis"))
		Eventually(ctx, func() (int, error) {
			pods, err := fleet.Members[0].Pods(ctx, ns, "web")
			return harness.CountReady(pods, imageV1), err
		}).Should(Equal(2))
	}, SpecTimeout(4*time.Minute))

	It("a target that cannot be divided is refused, and may be copied", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}})).To(Succeed())
		config := placement(ns, func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef.APIVersion, s.TargetRef.Kind = "v1", "ConfigMap"
		})
		Expect(fleet.Hub.Create(ctx, config)).To(MatchError(And(ContainSubstring("spec.targetRef.kind"), ContainSubstring("UnitedDeployment, CloneSet, Deployment"))))
		config.Spec.Division.Mode = fleetv1alpha1.DivisionDuplicated
		Expect(fleet.Hub.Create(ctx, config)).To(Succeed())
		divided := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"division":{"mode":"Divided"}}}`))
		Expect(fleet.Hub.Patch(ctx, config, divided)).To(MatchError(ContainSubstring("spec.targetRef.kind")))
	})

	It("a workload without a placement goes nowhere and says so", func(ctx SpecContext) {
		ns := namespace(ctx)
		Expect(fleet.Hub.Create(ctx, web(ns, 2))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			c := conditions.FindCompat(get(ctx, g, ns).Status.Conditions, fleetv1alpha1.ConditionFleetPlaced)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason).To(Equal(fleetv1alpha1.ReasonNoPlacement))
		}).Should(Succeed())
	})
})
