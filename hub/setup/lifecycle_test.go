// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

var _ = Describe("A placed workload", func() {
	It("is scaled: only shares that change are written", func(ctx SpecContext) {
		w := newWorld(ctx, 3)
		w.start(ctx, 6)
		before := w.slices(ctx)
		w.change(ctx, setReplicas(7))
		w.settled(ctx, 7)
		touched := 0
		for c, s := range w.slices(ctx) {
			Expect(s.UID).To(Equal(before[c].UID))
			if s.Generation != before[c].Generation {
				touched++
			}
		}
		Expect(touched).To(Equal(1))
		w.change(ctx, setReplicas(0))
		w.settled(ctx, 0)
	})

	It("gets a new template: counters of the old one do not count", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		old := w.ud(ctx, Default).Status.UpdatedRevision
		agents[w.clusters[1]].away.Store(true)
		w.change(ctx, setImage("web:2"))
		Eventually(ctx, func(g Gomega) {
			ud := w.ud(ctx, g)
			g.Expect(ud.Status.UpdatedRevision).NotTo(Equal(old))
			g.Expect(ud.Status.CurrentRevision).To(Equal(old))
			g.Expect(ud.Status.Replicas).To(Equal(int32(4)))
			g.Expect(ud.Status.UpdatedReplicas).To(Equal(int32(2)))
			g.Expect(ud.Status.ObservedGeneration).To(BeNumerically("<", ud.Generation))
		}).Should(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetProgressing)).Should(Equal("True/RollingOut"))
		agents[w.clusters[1]].away.Store(false)
		w.settled(ctx, 4)
		Expect(w.ud(ctx, Default).Status.CurrentRevision).NotTo(Equal(old))
	})

	It("keeps old pods by partition, divided over the clusters", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 6)
		w.change(ctx, func(ud *appsv1beta1.UnitedDeployment) {
			setImage("web:2")(ud)
			ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"any": 4}}
		})
		Eventually(ctx, func(g Gomega) {
			ud := w.ud(ctx, g)
			g.Expect([]int32{ud.Status.Replicas, ud.Status.UpdatedReplicas}).To(Equal([]int32{6, 2}))
			g.Expect(ud.Status.SubsetStatuses[0].Partition).To(Equal(int32(4)))
			g.Expect(ud.Status.ObservedGeneration).To(Equal(ud.Generation))
		}).Should(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetProgressing)).Should(Equal("False/Complete"))
		for _, s := range w.slices(ctx) {
			Expect(s.Spec.Partitions).To(Equal([]fleetv1alpha1.SubsetPartition{{Subset: "any", Partition: 2}}))
			Expect(string(s.Spec.Objects[0].Raw)).NotTo(ContainSubstring("partitions"))
		}
		w.change(ctx, func(ud *appsv1beta1.UnitedDeployment) { ud.Spec.UpdateStrategy.ManualUpdate.Partitions = nil })
		w.settled(ctx, 6)
	})

	It("heals a slice that somebody changed", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		w.start(ctx, 2)
		s := w.slices(ctx)[w.clusters[0]]
		s.Spec.Split[0].Replicas = 50
		s.Spec.Objects[0].Raw = []byte(`{"a":"b"}`)
		s.Labels = nil
		Expect(admin.Update(ctx, s)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			s := w.slices(ctx)[w.clusters[0]]
			g.Expect(s.Spec.Split[0].Replicas).To(Equal(int32(2)))
			g.Expect(string(s.Spec.Objects[0].Raw)).To(ContainSubstring("web:1"))
			g.Expect(s.Labels).To(HaveKey(fleetv1alpha1.PlacementUIDLabel))
		}).Should(Succeed())
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{2}))
	})

	It("is stale while a member does not report, and fresh again after", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		agents[w.clusters[1]].silent.Store(true)
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetStatusFresh)).Should(Equal("False/Stale"))
		p := w.placement(ctx, Default)
		Expect(conditions.Find(p.Status.Conditions, fleetv1alpha1.ConditionFleetStatusFresh).Message).To(And(ContainSubstring(w.clusters[1]), Not(ContainSubstring(w.clusters[0]))))
		Expect(p.Status.ReadyReplicas).To(Equal(int32(4)))
		Expect(p.Status.Clusters[0].State).To(Equal(fleetv1alpha1.ClusterStale))
		Expect(conditions.FindCompat(w.ud(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionFleetStatusFresh).Status).To(Equal(corev1.ConditionFalse))
		By("a change is observed without the stale member")
		w.change(ctx, func(ud *appsv1beta1.UnitedDeployment) { ud.Spec.RevisionHistoryLimit = new(int32) })
		Eventually(ctx, func(g Gomega) {
			ud := w.ud(ctx, g)
			g.Expect(ud.Status.ObservedGeneration).To(Equal(ud.Generation))
		}).Should(Succeed())
		agents[w.clusters[1]].silent.Store(false)
		w.settled(ctx, 4)
	})

	It("writes nothing at rest", func(ctx SpecContext) {
		w := newWorld(ctx, 3)
		w.start(ctx, 9)
		Eventually(ctx, func(g Gomega) { // slices of other tests go when their agents' leases are stale
			var list fleetv1alpha1.FleetSliceList
			g.Expect(admin.List(ctx, &list)).To(Succeed())
			g.Expect(list.Items).To(HaveLen(3))
		}).Should(Succeed())
		time.Sleep(2 * time.Second) // coalesced writes of other tests' objects
		began := time.Now()
		Consistently(func() int { return len(server.Writes(GinkgoT(), hubAgent, began)) }, 10*time.Second, time.Second).Should(BeZero())
	})

	It("survives a hub that is killed at random, with exact sums", Serial, func(ctx SpecContext) {
		w := newWorld(ctx, 4)
		w.start(ctx, 10)
		random := rand.New(rand.NewPCG(1, 2))
		n := int32(10)
		for range 20 {
			n = random.Int32N(40)
			w.change(ctx, setReplicas(n))
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
			hub.stop()
			Expect(sumOf(w.shares(ctx)())).To(BeNumerically("<=", 40+40))
			hub = startHub()
			if random.IntN(3) == 0 {
				Eventually(ctx, func() int32 { return sumOf(w.shares(ctx)()) }).Should(Equal(n))
			}
		}
		w.settled(ctx, n)
		Expect(sumOf(w.shares(ctx)())).To(Equal(n))
	}, SpecTimeout(3*time.Minute))
})

var _ = Describe("Taking back", func() {
	gone := func(ctx SpecContext, object client.Object) func() bool {
		return func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(object), object)) }
	}

	It("a placement deleted with Cascade", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		agents[w.clusters[1]].away.Store(true)
		p := w.placement(ctx, Default)
		Expect(admin.Delete(ctx, p)).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetProgressing)).Should(Equal("True/Deleting"))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{-1, 2}))
		Consistently(ctx, gone(ctx, p), time.Second).Should(BeFalse())
		for _, s := range w.slices(ctx) {
			Expect(s.Spec.DeletionPolicy).To(Equal(fleetv1alpha1.DeletionCascade))
		}
		agents[w.clusters[1]].away.Store(false)
		Eventually(ctx, gone(ctx, p)).Should(BeTrue())
		Eventually(ctx, func(g Gomega) {
			ud := w.ud(ctx, g)
			g.Expect(ud.Finalizers).To(BeEmpty())
			g.Expect(ud.Status.Replicas).To(BeZero())
			g.Expect(conditions.FindCompat(ud.Status.Conditions, fleetv1alpha1.ConditionFleetPlaced).Reason).To(Equal(fleetv1alpha1.ReasonNoPlacement))
		}).Should(Succeed())
	})

	It("a placement turned to Orphan and deleted at once: agents are told before", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		for _, c := range w.clusters {
			agents[c].away.Store(true)
		}
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.DeletionPolicy = fleetv1alpha1.DeletionOrphan })
		Expect(admin.Delete(ctx, w.placement(ctx, Default))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			found := w.slices(ctx)
			g.Expect(found).To(HaveLen(2))
			for _, s := range found {
				g.Expect(s.DeletionTimestamp).NotTo(BeNil())
				g.Expect(s.Spec.DeletionPolicy).To(Equal(fleetv1alpha1.DeletionOrphan))
			}
		}).Should(Succeed())
		for _, c := range w.clusters {
			agents[c].away.Store(false)
		}
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{-1, -1}))
	})

	It("the target deleted, and made again", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		ud := w.ud(ctx, Default)
		Expect(admin.Delete(ctx, ud)).To(Succeed())
		Eventually(ctx, gone(ctx, ud)).Should(BeTrue())
		Expect(w.shares(ctx)()).To(Equal([]int32{-1, -1}))
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionResolved)).Should(Equal("False/TargetNotFound"))
		Expect(admin.Create(ctx, w.united(5))).To(Succeed())
		w.settled(ctx, 5)
	})

	It("slices on their way out get a raised epoch, and the epoch never falls", func(ctx SpecContext) {
		w := newWorld(ctx, 3)
		w.start(ctx, 6)
		agents[w.clusters[1]].away.Store(true)
		agents[w.clusters[2]].away.Store(true)
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterNames = w.clusters[:1] })
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{6, 2, 2}))
		By("one of them is chosen again, and the epoch is raised")
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterNames = w.clusters[:2] })
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/Deleting"))
		epochs := &corev1.ConfigMap{}
		key := client.ObjectKey{Namespace: "flotilla-system", Name: fleetplacement.EpochConfigMap}
		Expect(admin.Get(ctx, key, epochs)).To(Succeed())
		old, err := strconv.ParseInt(epochs.Data[fleetplacement.EpochKey], 10, 64)
		Expect(err).NotTo(HaveOccurred())
		epochs.Data[fleetplacement.EpochKey] = fmt.Sprint(old + 1)
		Expect(admin.Update(ctx, epochs)).To(Succeed())
		seen := func() (out []int64) {
			for _, s := range w.slices(ctx) {
				out = append(out, s.Spec.Epoch)
			}
			return out
		}
		Eventually(ctx, seen).Should(Equal([]int64{old + 1, old + 1, old + 1}))
		Expect(w.shares(ctx)()).To(Equal([]int32{6, 2, 2}))
		By("the ConfigMap is deleted")
		Expect(admin.Delete(ctx, epochs)).To(Succeed())
		Eventually(ctx, func() (string, error) {
			fresh := &corev1.ConfigMap{}
			err := admin.Get(ctx, key, fresh)
			return fresh.Data[fleetplacement.EpochKey], err
		}).Should(Equal(fmt.Sprint(old + 1)))
		Consistently(ctx, seen, time.Second).Should(Equal([]int64{old + 1, old + 1, old + 1}))
		By("the members are back")
		agents[w.clusters[1]].away.Store(false)
		agents[w.clusters[2]].away.Store(false)
		w.settled(ctx, 6)
		Expect(w.shares(ctx)()).To(Equal([]int32{6, 0, -1}))
	}, SpecTimeout(2*time.Minute))

	It("a cluster that is gone for ever holds nothing up", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4)
		agents[w.clusters[1]].silent.Store(true)
		p := w.placement(ctx, Default)
		Expect(admin.Delete(ctx, p)).To(Succeed())
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{-1, 2}))
		Expect(admin.Delete(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: w.clusters[1]}})).To(Succeed())
		Eventually(ctx, gone(ctx, p)).Should(BeTrue())
		Expect(w.slices(ctx)).To(BeEmpty())
	})

	It("a cluster without a ManagedCluster, whose agent is at work: its slice waits for the agent", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4, w.bySelector)
		agents[w.clusters[1]].away.Store(true)
		Expect(admin.Delete(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: w.clusters[1]}})).To(Succeed())
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{4, 2}))
		Consistently(ctx, w.shares(ctx), staleAfter+2*time.Second).Should(Equal([]int32{4, 2}))
		Expect(w.slices(ctx)[w.clusters[1]].DeletionTimestamp).NotTo(BeNil())
		By("the agent stops renewing its lease")
		agents[w.clusters[1]].silent.Store(true)
		Consistently(ctx, w.shares(ctx), staleAfter/2).Should(Equal([]int32{4, 2}))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{4, -1}))
		Expect(agents[w.clusters[1]].deleted.Load()).To(BeZero())
	})

	It("a cluster that is gone for ever gives its share to the others", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.start(ctx, 4, w.bySelector)
		agents[w.clusters[1]].silent.Store(true)
		Expect(admin.Delete(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: w.clusters[1]}})).To(Succeed())
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{4, -1}))
		w.settled(ctx, 4)
	})
})

var _ = Describe("What cannot be placed", func() {
	It("a second placement for one target waits for the older one", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		w.start(ctx, 2)
		second := w.placed()
		second.Name = "web-2"
		Expect(admin.Create(ctx, second)).To(Succeed())
		state := func(g Gomega) string {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			c := conditions.Find(second.Status.Conditions, fleetv1alpha1.ConditionResolved)
			if c == nil {
				return ""
			}
			return c.Reason
		}
		Eventually(ctx, state).Should(Equal(fleetv1alpha1.ReasonTargetTaken))
		w.settled(ctx, 2)
		Expect(admin.Delete(ctx, w.placement(ctx, Default))).To(Succeed())
		Eventually(ctx, state).Should(Equal(fleetv1alpha1.ReasonResolved))
		Eventually(ctx, w.shares(ctx)).Should(Equal([]int32{2}))
		Expect(w.ud(ctx, Default).Finalizers).To(ContainElement(fleetv1alpha1.CleanupFinalizer))
	})

	It("a workload without a placement: one write says so", func(ctx SpecContext) {
		w := newWorld(ctx, 0)
		began := time.Now().Add(-time.Second)
		Expect(admin.Create(ctx, w.united(2))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			c := conditions.FindCompat(w.ud(ctx, g).Status.Conditions, fleetv1alpha1.ConditionFleetPlaced)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason).To(Equal(fleetv1alpha1.ReasonNoPlacement))
		}).Should(Succeed())
		mine := func() int {
			return len(slices.DeleteFunc(server.Writes(GinkgoT(), hubAgent, began), func(x testkit.Write) bool { return x.Namespace != w.ns }))
		}
		Eventually(ctx, mine).Should(Equal(1))
		Consistently(ctx, mine, 2*time.Second).Should(Equal(1))
	})

	It("a kind that cannot be divided, but can be copied", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}, Data: map[string]string{"k": "v"}}
		Expect(admin.Create(ctx, cm)).To(Succeed())
		Expect(admin.Create(ctx, w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef = fleetv1alpha1.TargetReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web"}
		}))).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionResolved)).Should(Equal("False/TargetNotSupported"))
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.Division.Mode = fleetv1alpha1.DivisionDuplicated })
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetProgressing)).Should(Equal("False/Complete"))
		Expect(w.slices(ctx)).To(HaveLen(2))
		cm.Data["k"] = "w"
		Eventually(ctx, func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(cm), cm)).To(Succeed())
			cm.Data["k"] = "w"
			g.Expect(admin.Update(ctx, cm)).To(Succeed())
		}).Should(Succeed())
		Eventually(ctx, func() string { return string(w.slices(ctx)[w.clusters[0]].Spec.Objects[0].Raw) }).Should(ContainSubstring(`"k":"w"`))
	})

	It("a kind whose objects the hub may read and not change", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hub-reads-services"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get", "list", "watch"}},
		}}
		Expect(admin.Create(ctx, role)).To(Succeed())
		bindHub(ctx, role.Name)
		Expect(admin.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})).To(Succeed())
		asHub, err := client.New(hubConfig, client.Options{Scheme: Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() error { return asHub.List(ctx, &corev1.ServiceList{}) }).Should(Succeed())
		Expect(admin.Create(ctx, w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef = fleetv1alpha1.TargetReference{APIVersion: "v1", Kind: "Service", Name: "web"}
			s.Division.Mode = fleetv1alpha1.DivisionDuplicated
		}))).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/ApplyFailed"))
		Expect(conditions.Find(w.placement(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionFleetPlaced).Message).To(
			And(ContainSubstring("ClusterRole with get, list, watch and patch"), ContainSubstring(`cannot patch resource "services"`)))
		Expect(w.slices(ctx)).To(BeEmpty())
		By("the right is given")
		role.Rules[0].Verbs = append(role.Rules[0].Verbs, "patch")
		Expect(admin.Update(ctx, role)).To(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced), 40*time.Second).Should(Equal("True/Placed"))
	}, SpecTimeout(2*time.Minute))

	It("kinds nobody serves, that have no namespace, or that the hub may not read", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		for i, ref := range []fleetv1alpha1.TargetReference{{APIVersion: "no.such/v1", Kind: "Thing", Name: "web"}, {APIVersion: "v1", Kind: "Node", Name: "web"}, {APIVersion: "v1", Kind: "Secret", Name: "web"}} {
			p := w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) { s.TargetRef = ref })
			p.Name = []string{"web", "node", "secret"}[i]
			Expect(admin.Create(ctx, p)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				c := conditions.Find(p.Status.Conditions, fleetv1alpha1.ConditionResolved)
				g.Expect(c).NotTo(BeNil())
				g.Expect(c.Reason).To(Equal(fleetv1alpha1.ReasonTargetNotSupported))
			}).Should(Succeed())
		}
	})
})

var _ = Describe("A CloneSet", func() {
	It("is divided, its partition too, and its status summed up", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		cs := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}, Spec: w.united(1).Spec.Template.CloneSetTemplate.Spec}
		n := int32(15)
		cs.Spec.Replicas = &n
		Expect(admin.Create(ctx, cs)).To(Succeed())
		Expect(admin.Create(ctx, w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) {
			s.TargetRef.Kind, s.TargetRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
		}))).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(cs), cs)).To(Succeed())
			g.Expect([]int32{cs.Status.Replicas, cs.Status.UpdatedReadyReplicas}).To(Equal([]int32{15, 15}))
			g.Expect(cs.Status.ObservedGeneration).To(Equal(cs.Generation))
		}).Should(Succeed())
		Expect(sumOf(w.shares(ctx)())).To(Equal(int32(15)))
	})
})
