// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package ocm_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

var _ = Describe("the stand-in", Ordered, func() {
	var (
		hub, member1, member2 *cluster
		stopMember2           func()
		ctx                   = context.Background()
	)

	managed := func(name string) *clusterv1.ManagedCluster {
		GinkgoHelper()
		mc := &clusterv1.ManagedCluster{}
		Expect(hub.client.Get(ctx, client.ObjectKey{Name: name}, mc)).To(Succeed())
		return mc
	}
	available := func(name string) func() string {
		return func() string {
			mc := &clusterv1.ManagedCluster{}
			if hub.client.Get(ctx, client.ObjectKey{Name: name}, mc) != nil {
				return ""
			}
			c := meta.FindStatusCondition(mc.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)
			if c == nil {
				return ""
			}
			return string(c.Status) + " " + c.Reason
		}
	}
	taints := func(name string) func() []string {
		return func() []string {
			out := []string{}
			for _, t := range managed(name).Spec.Taints {
				Expect(t.TimeAdded.IsZero()).To(BeFalse(), "taint %s has no time", t.Key)
				out = append(out, t.Key+" "+string(t.Effect))
			}
			return out
		}
	}
	claims := func(name string) func() map[string]string {
		return func() map[string]string {
			out := map[string]string{}
			for _, c := range managed(name).Status.ClusterClaims {
				out[c.Name] = c.Value
			}
			return out
		}
	}
	decided := func(placement string) func() []string {
		return func() []string {
			list := &clusterv1beta1.PlacementDecisionList{}
			Expect(hub.client.List(ctx, list, client.InNamespace("apps"),
				client.MatchingLabels{clusterv1beta1.PlacementLabel: placement})).To(Succeed())
			out := []string{}
			for _, d := range list.Items {
				for _, c := range d.Status.Decisions {
					out = append(out, c.ClusterName)
				}
			}
			return out
		}
	}
	satisfied := func(placement string) func() string {
		return func() string {
			p := &clusterv1beta1.Placement{}
			Expect(hub.client.Get(ctx, client.ObjectKey{Namespace: "apps", Name: placement}, p)).To(Succeed())
			c := meta.FindStatusCondition(p.Status.Conditions, clusterv1beta1.PlacementConditionSatisfied)
			if c == nil {
				return ""
			}
			return fmt.Sprintf("%s %s %d", c.Status, c.Reason, p.Status.NumberOfSelectedClusters)
		}
	}
	place := func(name string, spec clusterv1beta1.PlacementSpec) {
		GinkgoHelper()
		p := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}, Spec: spec}
		Expect(hub.client.Create(ctx, p)).To(Succeed())
	}
	renewals := func(name string) time.Time {
		l := &coordinationv1.Lease{}
		Expect(hub.client.Get(ctx, client.ObjectKey{Namespace: name, Name: identity.LeaseName}, l)).To(Succeed())
		return l.Spec.RenewTime.Time
	}

	BeforeAll(func() {
		hub, member1, member2 = startCluster("hub"), startCluster("member-1"), startCluster("member-2")
		addNode(member1, "n1", "west", "a", false)
		addNode(member1, "n2", "west", "b", true)
		addNode(member2, "n1", "east", "c", false)
		DeferCleanup(standIn(ocm.Options{HubKubeconfig: hub.kubeconfig, Run: ocm.RunHub}))
		DeferCleanup(standIn(ocm.Options{HubKubeconfig: hub.kubeconfig, Run: ocm.RunMembers,
			Members: []ocm.Member{{Name: "member-1", Kubeconfig: member1.kubeconfig}}}))
		DeferCleanup(func() { stopMember2() })
		stopMember2 = standIn(ocm.Options{HubKubeconfig: hub.kubeconfig, Run: ocm.RunMembers,
			Members: []ocm.Member{{Name: "member-2", Kubeconfig: member2.kubeconfig}}})
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		Expect(ocm.WaitAvailable(waiting, hub.kubeconfig, []string{"member-1", "member-2"})).To(Succeed())
	})

	It("joins members with what belongs to them", func() {
		mc := managed("member-1")
		Expect(mc.Spec.HubAcceptsClient).To(BeTrue())
		Expect(mc.Annotations).To(HaveKey("open-cluster-management.io/automatically-accepted-on"))
		Expect(mc.Finalizers).To(ContainElement(clusterv1.ManagedClusterFinalizer))
		Expect(mc.Spec.LeaseDurationSeconds).To(BeEquivalentTo(1))
		Expect(mc.Spec.ManagedClusterClientConfigs).To(HaveLen(1))
		Expect(mc.Status.Version.Kubernetes).To(HavePrefix("v1."))
		ns := &corev1.Namespace{}
		Expect(hub.client.Get(ctx, client.ObjectKey{Name: "member-1"}, ns)).To(Succeed())
		Eventually(taints("member-1")).Should(BeEmpty())
	})

	It("reports regions, zones, resources, and changes of them", func() {
		Eventually(claims("member-1")).Should(Equal(map[string]string{"region": "west", "zones": "a,b"}))
		Eventually(claims("member-2")).Should(Equal(map[string]string{"region": "east", "zones": "c"}))
		Eventually(func() string { return managed("member-1").Labels[corev1.LabelTopologyRegion] }).Should(Equal("west"))
		cpu := func(list clusterv1.ResourceList) string {
			q := list[clusterv1.ResourceCPU]
			return q.String()
		}
		Expect(cpu(managed("member-1").Status.Capacity)).To(Equal("4"))
		Expect(cpu(managed("member-1").Status.Allocatable)).To(Equal("2"))

		addNode(member1, "n3", "west", "z", false)
		Eventually(claims("member-1")).Should(HaveKeyWithValue("zones", "a,b,z"))
		Expect(cpu(managed("member-1").Status.Capacity)).To(Equal("6"))
		custom := &clusterv1alpha1.ClusterClaim{ObjectMeta: metav1.ObjectMeta{Name: "tier"}}
		custom.Spec.Value = "gold"
		Expect(member1.client.Create(ctx, custom)).To(Succeed())
		Eventually(claims("member-1")).Should(HaveKeyWithValue("tier", "gold"))
	})

	It("lets an agent touch its own namespace only", func() {
		cfg := rest.CopyConfig(hub.server.Config)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: identity.User("member-1"), Groups: []string{identity.Group("member-1"), "system:authenticated"}}
		agent, err := client.New(cfg, client.Options{Scheme: newScheme()})
		Expect(err).NotTo(HaveOccurred())
		l := &coordinationv1.Lease{}
		Expect(agent.Get(ctx, client.ObjectKey{Namespace: "member-1", Name: identity.LeaseName}, l)).To(Succeed())
		Expect(apierrors.IsForbidden(agent.Get(ctx, client.ObjectKey{Namespace: "member-2", Name: identity.LeaseName}, l))).To(BeTrue())
		Expect(apierrors.IsForbidden(agent.Get(ctx, client.ObjectKey{Name: "member-2"}, &clusterv1.ManagedCluster{}))).To(BeTrue())
		Expect(apierrors.IsForbidden(agent.List(ctx, &corev1.SecretList{}, client.InNamespace("member-1")))).To(BeTrue())
	})

	It("has the sets global and default, and says what is bound", func() {
		for _, name := range []string{"global", "default"} {
			Eventually(func() bool {
				set := &clusterv1beta2.ManagedClusterSet{}
				Expect(hub.client.Get(ctx, client.ObjectKey{Name: name}, set)).To(Succeed())
				return meta.IsStatusConditionFalse(set.Status.Conditions, clusterv1beta2.ManagedClusterSetConditionEmpty)
			}).Should(BeTrue(), name)
		}
		Expect(hub.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "apps"}})).To(Succeed())
		place("all", clusterv1beta1.PlacementSpec{})
		Eventually(satisfied("all")).Should(Equal("False NoManagedClusterSetBindings 0"))

		bind := &clusterv1beta2.ManagedClusterSetBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "global"}}
		bind.Spec.ClusterSet = "global"
		Expect(hub.client.Create(ctx, bind)).To(Succeed())
		Eventually(func() bool {
			Expect(hub.client.Get(ctx, client.ObjectKeyFromObject(bind), bind)).To(Succeed())
			return meta.IsStatusConditionTrue(bind.Status.Conditions, clusterv1beta2.ClusterSetBindingBoundType)
		}).Should(BeTrue())
		Eventually(decided("all")).Should(Equal([]string{"member-1", "member-2"}))
		Eventually(satisfied("all")).Should(Equal("True AllDecisionsScheduled 2"))
	})

	It("places by label, by claim, and with tolerations", func() {
		place("label", clusterv1beta1.PlacementSpec{Predicates: []clusterv1beta1.ClusterPredicate{{
			RequiredClusterSelector: clusterv1beta1.ClusterSelector{LabelSelector: metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelTopologyRegion: "west"}}}}}})
		place("claim", clusterv1beta1.PlacementSpec{Predicates: []clusterv1beta1.ClusterPredicate{{
			RequiredClusterSelector: clusterv1beta1.ClusterSelector{ClaimSelector: clusterv1beta1.ClusterClaimSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "region", Operator: "In", Values: []string{"east"}}}}}}}})
		place("patient", clusterv1beta1.PlacementSpec{Tolerations: []clusterv1beta1.Toleration{{Operator: "Exists"}}})
		place("brief", clusterv1beta1.PlacementSpec{Tolerations: []clusterv1beta1.Toleration{
			{Operator: "Exists", TolerationSeconds: ptr.To[int64](4)}}})
		place("cel", clusterv1beta1.PlacementSpec{Predicates: []clusterv1beta1.ClusterPredicate{{
			RequiredClusterSelector: clusterv1beta1.ClusterSelector{CelSelector: clusterv1beta1.ClusterCelSelector{CelExpressions: []string{"true"}}}}}})
		Eventually(decided("label")).Should(Equal([]string{"member-1"}))
		Eventually(decided("claim")).Should(Equal([]string{"member-2"}))
		Eventually(decided("patient")).Should(Equal([]string{"member-1", "member-2"}))
		Eventually(decided("brief")).Should(Equal([]string{"member-1", "member-2"}))
		Eventually(satisfied("cel")).Should(Equal("False NoManagedClusterMatched 0"))
		pd := &clusterv1beta1.PlacementDecision{}
		Expect(hub.client.Get(ctx, client.ObjectKey{Namespace: "apps", Name: "label-decision-1"}, pd)).To(Succeed())
		Expect(pd.Labels).To(HaveKeyWithValue(clusterv1beta1.DecisionGroupIndexLabel, "0"))
		Expect(metav1.GetControllerOf(pd).Name).To(Equal("label"))
		Expect(hub.client.Delete(ctx, pd)).To(Succeed())
		Eventually(decided("label")).Should(Equal([]string{"member-1"}), "a decision deleted by hand comes back")
	})

	It("writes nothing but leases at rest", func() {
		first := renewals("member-1")
		began := time.Now()
		Eventually(func() time.Duration { return renewals("member-1").Sub(first) }).Should(BeNumerically(">=", 5*lease))
		for _, c := range []*cluster{hub, member1, member2} {
			Expect(c.server.Writes(GinkgoTB(), ocm.CommandName, began)).To(BeEmpty())
		}
		Expect(hub.server.Writes(GinkgoTB(), ocm.CommandName, time.Time{})).NotTo(BeEmpty(), "writes are counted at all")
	})

	It("taints a cluster whose agent is gone, and takes it back", func() {
		stopMember2()
		Eventually(available("member-2")).Should(Equal("Unknown ManagedClusterLeaseUpdateStopped"))
		Eventually(taints("member-2")).Should(Equal([]string{"cluster.open-cluster-management.io/unreachable NoSelect"}))
		Eventually(decided("all")).Should(Equal([]string{"member-1"}))
		Eventually(decided("claim")).Should(BeEmpty())
		Eventually(satisfied("claim")).Should(Equal("False NoManagedClusterMatched 0"))
		Expect(decided("patient")()).To(Equal([]string{"member-1", "member-2"}))
		Eventually(decided("brief")).Should(Equal([]string{"member-1"}))
		tainted := managed("member-2").Spec.Taints[0].TimeAdded
		Expect(time.Now()).To(BeTemporally(">=", tainted.Add(4*time.Second)), "dropped before its time")
		Expect(available("member-1")()).To(HavePrefix("True"))

		stopMember2 = standIn(ocm.Options{HubKubeconfig: hub.kubeconfig, Run: ocm.RunMembers,
			Members: []ocm.Member{{Name: "member-2", Kubeconfig: member2.kubeconfig}}})
		Eventually(available("member-2")).Should(Equal("True ManagedClusterAvailable"))
		Eventually(taints("member-2")).Should(BeEmpty())
		Eventually(decided("all")).Should(Equal([]string{"member-1", "member-2"}))
		Eventually(decided("claim")).Should(Equal([]string{"member-2"}))
	})

	It("taints a cluster whose API server is gone, and takes it back", func() {
		member1.proxy.cut()
		Eventually(available("member-1")).Should(Equal("False ManagedClusterKubeAPIServerUnavailable"))
		Eventually(taints("member-1")).Should(Equal([]string{"cluster.open-cluster-management.io/unavailable NoSelect"}))
		Eventually(decided("all")).Should(Equal([]string{"member-2"}))
		before := renewals("member-1")
		Eventually(func() time.Time { return renewals("member-1") }).Should(BeTemporally(">", before), "the agent itself lives")
		Expect(claims("member-1")()).To(HaveKeyWithValue("region", "west"))

		member1.proxy.mend()
		Eventually(available("member-1")).Should(Equal("True ManagedClusterAvailable"))
		Eventually(taints("member-1")).Should(BeEmpty())
		Eventually(decided("all")).Should(Equal([]string{"member-1", "member-2"}))
		addNode(member1, "n4", "west", "y", false)
		Eventually(claims("member-1")).Should(HaveKeyWithValue("zones", "a,b,y,z"), "watches have come back")
	})

	It("does not blame clusters for an outage of the hub", func() {
		moves := func(since time.Time) []testkit.Write {
			var out []testkit.Write
			for _, w := range hub.server.Writes(GinkgoTB(), ocm.CommandName, since) {
				if strings.HasPrefix(w.Resource, "placement") {
					out = append(out, w)
				}
			}
			return out
		}
		Eventually(func() []testkit.Write { return moves(time.Now().Add(-2 * time.Second)) }).Should(BeEmpty(),
			"the decisions that earlier changes asked for have been made")
		began := time.Now()
		hub.proxy.cut()
		Eventually(func() time.Duration { return time.Since(renewals("member-1")) }).Should(BeNumerically(">", 7*lease))
		hub.proxy.mend()
		Eventually(func() time.Duration { return time.Since(renewals("member-1")) }).Should(BeNumerically("<", 2*lease))
		after := renewals("member-1")
		Eventually(func() time.Duration { return renewals("member-1").Sub(after) }).Should(BeNumerically(">=", 3*lease))
		Expect(available("member-1")()).To(HavePrefix("True"))
		Expect(moves(began)).To(BeEmpty())
	})

	It("denies, and lets go", func() {
		mc := managed("member-2")
		before := mc.DeepCopy()
		mc.Spec.HubAcceptsClient = false
		Expect(hub.client.Patch(ctx, mc, client.MergeFrom(before))).To(Succeed())
		Eventually(func() bool {
			return meta.IsStatusConditionFalse(managed("member-2").Status.Conditions, clusterv1.ManagedClusterConditionHubAccepted)
		}).Should(BeTrue())
		binding := &rbacv1.ClusterRoleBinding{}
		key := client.ObjectKey{Name: "open-cluster-management:managedcluster:member-2"}
		Eventually(func() bool { return apierrors.IsNotFound(hub.client.Get(ctx, key, binding)) }).Should(BeTrue())
		Expect(managed("member-2").Spec.HubAcceptsClient).To(BeFalse(), "a denial sticks")

		stopMember2()
		Expect(hub.client.Delete(ctx, managed("member-2"))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(hub.client.Get(ctx, client.ObjectKey{Name: "member-2"}, &clusterv1.ManagedCluster{}))
		}).Should(BeTrue())
		ns := &corev1.Namespace{}
		Expect(hub.client.Get(ctx, client.ObjectKey{Name: "member-2"}, ns)).To(Succeed())
		Expect(ns.DeletionTimestamp).NotTo(BeNil())
		Eventually(decided("patient")).Should(Equal([]string{"member-1"}))
	})
})

// addNode makes a node of two CPUs.
func addNode(c *cluster, name, region, zone string, unschedulable bool) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelTopologyRegion: region, corev1.LabelTopologyZone: zone,
	}}}
	node.Spec.Unschedulable = unschedulable
	Expect(c.client.Create(context.Background(), node)).To(Succeed())
	before := node.DeepCopy()
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	node.Status.Allocatable = node.Status.Capacity
	Expect(c.client.Status().Patch(context.Background(), node, client.MergeFrom(before))).To(Succeed())
}
