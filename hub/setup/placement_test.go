// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

var _ = Describe("Which clusters", func() {
	It("by name: the unknown ones show, the known ones are served", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		Expect(admin.Create(ctx, w.united(4))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterNames = append(s.ClusterNames, "atlantis") }))).To(Succeed())
		w.settled(ctx, 4)
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{2, 2}))
		Expect(w.condition(ctx, fleetv1alpha1.ConditionResolved)(Default)).To(Equal("False/UnknownClusters"))
		Expect(conditions.Find(w.placement(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionResolved).Message).To(ContainSubstring("atlantis"))
	})

	It("by selector: clusters come and go, shares of the others stay", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 6, w.bySelector)
		Expect(w.shares(ctx)()).To(Equal([]int32{3, 3}))
		w.join(ctx, w.clusters[0]+"x", 2)
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{3, 3, 0}))
		w.change(ctx, setReplicas(9))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{3, 3, 3}))
		By("a cluster loses its label")
		changeCluster(ctx, w.clusters[1], func(mc *clusterv1.ManagedCluster) { mc.Labels["world"] = "elsewhere" })
		Eventually(ctx, func() []int32 { s := w.shares(ctx)(); return []int32{s[1], sumOf(s)} }).Should(Equal([]int32{-1, 9}))
		w.settled(ctx, 9)
	})

	It("nothing selected by mistake: members keep what they have", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4, w.bySelector)
		before := w.slices(ctx)
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterSelector.MatchLabels["world"] = "wolrd" })
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionResolved)).Should(Equal("False/NoClusters"))
		Expect(w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)(Default)).To(Equal("False/NoClusters"))
		Expect(conditions.Find(w.placement(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionResolved).Message).To(ContainSubstring("members keep what they have"))
		Consistently(ctx, w.shares(ctx), time.Second).Should(Equal([]int32{2, 2}))
		By("no cluster matches the workload's own selectors either")
		elsewhere := func(region string) func(*appsv1beta1.UnitedDeployment) {
			return func(ud *appsv1beta1.UnitedDeployment) {
				ud.Spec.Topology.Subsets[0].NodeSelectorTerm = corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyRegion, Operator: corev1.NodeSelectorOpNotIn, Values: []string{region, "r1"},
				}}}
			}
		}
		w.change(ctx, elsewhere("r0"))
		w.changePlacement(ctx, w.bySelector)
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/InsufficientCapacity"))
		Expect(w.condition(ctx, fleetv1alpha1.ConditionResolved)(Default)).To(Equal("True/Resolved"))
		Consistently(ctx, w.shares(ctx), time.Second).Should(Equal([]int32{2, 2}))
		By("mended, all is as before")
		w.change(ctx, elsewhere("r7"))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{4, -1}))
		Expect(w.slices(ctx)[w.clusters[0]].UID).To(Equal(before[w.clusters[0]].UID))
		w.settled(ctx, 4)
	})

	It("by OCM Placement, all its decisions", func(ctx SpecContext) {
		w := newWorld(ctx, 3)
		Expect(admin.Create(ctx, w.united(6))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(byPlacement))).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionResolved)).Should(Equal("False/NoClusters"))
		w.decide(ctx, w.clusters[:1], w.clusters[1:])
		w.settled(ctx, 6)
		Expect(w.shares(ctx)()).To(Equal([]int32{2, 2, 2}))

		By("a cluster out of reach is dropped by OCM and keeps its share")
		changeCluster(ctx, w.clusters[2], func(mc *clusterv1.ManagedCluster) {
			mc.Spec.Taints = []clusterv1.Taint{{Key: clusterv1.ManagedClusterTaintUnreachable, Effect: clusterv1.TaintEffectNoSelect, TimeAdded: metav1.Now()}}
			setAvailable(mc, metav1.ConditionUnknown)
		})
		w.decide(ctx, w.clusters[:1], w.clusters[1:2])
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("False/Stale"))
		Consistently(ctx, w.shares(ctx), 2*time.Second).Should(Equal([]int32{2, 2, 2}))
		By("it gets no more while it is away")
		w.change(ctx, setReplicas(8))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{3, 3, 2}))

		By("it is back: its taint goes, and OCM decides for it a while later")
		held := w.slices(ctx)[w.clusters[2]]
		changeCluster(ctx, w.clusters[2], func(mc *clusterv1.ManagedCluster) {
			mc.Spec.Taints = nil
			setAvailable(mc, metav1.ConditionTrue)
		})
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("True/Fresh"))
		Consistently(ctx, w.shares(ctx), time.Second).Should(Equal([]int32{3, 3, 2}))
		w.decide(ctx, w.clusters[:1], w.clusters[1:])
		Consistently(ctx, w.shares(ctx), dropGrace+time.Second).Should(Equal([]int32{3, 3, 2}))
		Expect(w.slices(ctx)[w.clusters[2]].UID).To(Equal(held.UID))
		Expect(agents[w.clusters[2]].deleted.Load()).To(BeZero())

		By("a cluster that is dropped while it is well loses its share after a grace")
		w.decide(ctx, w.clusters[:1], w.clusters[1:2])
		Consistently(ctx, w.shares(ctx), dropGrace/2).Should(Equal([]int32{3, 3, 2}))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{4, 4, -1}))

		By("a Placement that goes takes nothing away")
		Expect(admin.Delete(ctx, &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "prod"}})).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionResolved)).Should(Equal("False/NoClusters"))
		Consistently(ctx, w.shares(ctx), time.Second).Should(Equal([]int32{4, 4, -1}))
	})

	It("subsets go to the regions they name, and what has no place is said", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		ud := w.united(6)
		inRegion := func(name string, n int) appsv1beta1.Subset {
			return appsv1beta1.Subset{Name: name, NodeSelectorTerm: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyRegion, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprint("r", n)},
			}}}}
		}
		ud.Spec.Topology.Subsets = []appsv1beta1.Subset{inRegion("a", 0), inRegion("b", 1), inRegion("c", 7)}
		Expect(admin.Create(ctx, ud)).To(Succeed())
		Expect(admin.Create(ctx, w.placed())).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/InsufficientCapacity"))
		message := conditions.Find(w.placement(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionFleetPlaced).Message
		Expect(message).To(And(ContainSubstring("2 replicas of subset c have no place"), ContainSubstring(w.clusters[0]+": topology.kubernetes.io/region is r0, wanted In (r7)")))
		Expect(w.shares(ctx)()).To(Equal([]int32{2, 2}))
		Eventually(ctx, func(g Gomega) { g.Expect(w.ud(ctx, g).Status.ReadyReplicas).To(Equal(int32(4))) }).Should(Succeed())
		statuses := w.ud(ctx, Default).Status.SubsetStatuses
		Expect(statuses).To(HaveLen(3))
		Expect(statuses[0].Name + statuses[2].Name).To(Equal("ac"))
	})

	It("weights and overrides by cluster selector", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		first := metav1.LabelSelector{MatchLabels: map[string]string{"i": "0"}}
		w.start(ctx, 9, func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.Division.Weights = []fleetv1alpha1.ClusterWeight{{ClusterSelector: first, Weight: 2}}
			s.Overrides = []fleetv1alpha1.Override{{ClusterSelector: first, Patch: runtime.RawExtension{Raw: []byte(
				`{"spec":{"template":{"cloneSetTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:first"}]}}}}}}}`)}}}
		})
		Expect(w.shares(ctx)()).To(Equal([]int32{6, 3}))
		found := w.slices(ctx)
		Expect(string(found[w.clusters[0]].Spec.Objects[0].Raw)).To(ContainSubstring("web:first"))
		Expect(string(found[w.clusters[1]].Spec.Objects[0].Raw)).To(ContainSubstring("web:1"))

		By("an override that cannot be applied changes nothing")
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.Overrides[0].Type = fleetv1alpha1.PatchJSON6902
			s.Overrides[0].Patch.Raw = []byte(`[{"op":"remove","path":"/spec/no"}]`)
		})
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/RenderFailed"))
		Expect(string(w.slices(ctx)[w.clusters[0]].Spec.Objects[0].Raw)).To(ContainSubstring("web:first"))
	})
})

// decide makes OCM's Placement "prod" and its decisions, one object for each group of clusters.
func (w *world) decide(ctx context.Context, groups ...[]string) {
	GinkgoHelper()
	for i, group := range groups {
		d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: fmt.Sprint("prod-decision-", i+1), Labels: map[string]string{clusterv1beta1.PlacementLabel: "prod"},
		}}
		if admin.Create(ctx, d) != nil {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		}
		d.Status.Decisions = nil
		for _, c := range group {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
		}
		Expect(admin.Status().Update(ctx, d)).To(Succeed())
	}
	p := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "prod"}}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, p))).To(Succeed())
}
