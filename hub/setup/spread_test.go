// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// spreadOf is the WorkloadSpread that a slice carries; nil when it carries none.
func spreadOf(s *fleetv1alpha1.FleetSlice) *appsv1beta1.WorkloadSpread {
	if len(s.Spec.Objects) < 2 {
		return nil
	}
	spread := &appsv1beta1.WorkloadSpread{}
	if json.Unmarshal(s.Spec.Objects[1].Raw, spread) != nil || spread.Kind != "WorkloadSpread" {
		return nil
	}
	return spread
}

// schedulable is how many replicas find a node, by cluster/subset; without an entry all do.
var schedulable sync.Map

// spreadIn fills the subsets of the slice's WorkloadSpread in order, as a member does.
func spreadIn(s *fleetv1alpha1.FleetSlice) (out []fleetv1alpha1.SpreadCounters) {
	spread := spreadOf(s)
	if spread == nil || len(s.Spec.Split) == 0 {
		return nil
	}
	rest := s.Spec.Split[0].Replicas
	for _, subset := range spread.Spec.Subsets {
		c := fleetv1alpha1.SpreadCounters{Subset: subset.Name, Replicas: rest, MissingReplicas: -1}
		if most := subset.MaxReplicas; most != nil {
			c.Replicas = min(rest, int32(most.IntValue()))
			c.MissingReplicas = int32(most.IntValue()) - c.Replicas
		}
		rest -= c.Replicas
		if n, stuck := schedulable.Load(s.Namespace + "/" + c.Subset); stuck {
			c.UnschedulableReplicas = max(c.Replicas-n.(int32), 0)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b fleetv1alpha1.SpreadCounters) int { return strings.Compare(a.Subset, b.Subset) })
	return out
}

// clone makes CloneSet web.
func (w *world) clone(replicas int32) *appsv1beta1.CloneSet {
	template := w.united(replicas).Spec.Template.CloneSetTemplate.Spec
	template.Replicas = ptr.To(replicas)
	return &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}, Spec: template}
}

func placesCloneSet(s *fleetv1alpha1.FleetPlacementSpec) { s.TargetRef.Kind = "CloneSet" }

// spread makes WorkloadSpread web: two replicas in zone a, half of them in b, the others in c.
func (w *world) spread(change ...func(*appsv1beta1.WorkloadSpreadSpec)) *appsv1beta1.WorkloadSpread {
	zone := func(name string, most *intstr.IntOrString) appsv1beta1.WorkloadSpreadSubset {
		return appsv1beta1.WorkloadSpreadSubset{Name: name, MaxReplicas: most, RequiredNodeSelector: &corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		}}
	}
	out := &appsv1beta1.WorkloadSpread{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}, Spec: appsv1beta1.WorkloadSpreadSpec{
		TargetReference: &appsv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "web"},
		Subsets:         []appsv1beta1.WorkloadSpreadSubset{zone("a", ptr.To(intstr.FromInt32(2))), zone("b", ptr.To(intstr.FromInt32(3))), zone("c", nil)},
	}}
	for _, f := range change {
		f(&out.Spec)
	}
	return out
}

// zones sets the zones that each cluster says it has.
func (w *world) zones(ctx context.Context, zones ...string) {
	GinkgoHelper()
	for i, list := range zones {
		changeCluster(ctx, w.clusters[i], func(mc *clusterv1.ManagedCluster) {
			mc.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "zones", Value: list}}
		})
	}
}

// given prints what each cluster was given: replicas and the subsets of its WorkloadSpread.
func (w *world) given(ctx context.Context) func() []string {
	return func() (out []string) {
		found := w.slices(ctx)
		for _, c := range w.clusters {
			s := found[c]
			if s == nil {
				out = append(out, "-")
				continue
			}
			line := fmt.Sprint(s.Spec.Split[0].Replicas)
			if spread := spreadOf(s); spread != nil {
				for _, subset := range spread.Spec.Subsets {
					line += " " + subset.Name
					if subset.MaxReplicas != nil {
						line += subset.MaxReplicas.String()
					}
				}
			}
			out = append(out, line)
		}
		return out
	}
}

// rows prints the status of the WorkloadSpread: replicas, what is missing, and the condition of each subset.
func (w *world) rows(ctx context.Context) func(Gomega) []string {
	return func(g Gomega) (out []string) {
		spread := &appsv1beta1.WorkloadSpread{}
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "web"}, spread)).To(Succeed())
		g.Expect(spread.Status.ObservedGeneration).To(Equal(spread.Generation))
		for _, row := range spread.Status.SubsetStatuses {
			c := conditions.Find(row.Conditions, fleetv1alpha1.ConditionFleetPlaced)
			g.Expect(c).NotTo(BeNil())
			out = append(out, fmt.Sprintf("%s %d %d %s", row.Name, row.Replicas, row.MissingReplicas, c.Reason))
		}
		return out
	}
}

func (w *world) scale(ctx context.Context, n int32) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))
	Expect(admin.Patch(ctx, w.clone(0), patch)).To(Succeed())
}

func (w *world) eventsAbout(ctx context.Context, kind string) func(Gomega) []string {
	return func(g Gomega) (out []string) {
		var list eventsv1.EventList
		g.Expect(admin.List(ctx, &list, client.InNamespace(w.ns))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].Regarding.Kind == kind {
				out = append(out, list.Items[i].Reason+": "+list.Items[i].Note)
			}
		}
		return out
	}
}

// writes are the hub's about this world: those of other tests may still be going.
func (w *world) writes(since time.Time) []testkit.Write {
	return slices.DeleteFunc(server.Writes(GinkgoTB(), hubAgent, since), func(x testkit.Write) bool {
		return x.Namespace != w.ns && !slices.Contains(w.clusters, x.Namespace)
	})
}

var _ = Describe("A WorkloadSpread", func() {
	It("fills zones over clusters in order, and is told so", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.zones(ctx, "a,b,x", "b,c,x")
		Expect(admin.Create(ctx, w.clone(4))).To(Succeed())
		Expect(admin.Create(ctx, w.spread())).To(Succeed())
		By("going nowhere without a placement, and saying so")
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 0 2 NoPlacement", "b 0 3 NoPlacement", "c 0 -1 NoPlacement"}))
		Eventually(ctx, w.eventsAbout(ctx, "WorkloadSpread")).Should(ContainElement(HavePrefix("NoPlacement: no FleetPlacement names CloneSet")))
		Expect(w.slices(ctx)).To(BeEmpty())

		Expect(admin.Create(ctx, w.placed(placesCloneSet))).To(Succeed())
		Eventually(ctx, func() []int32 { s := w.shares(ctx)(); return []int32{sumOf(s), s[0] + s[1]} }).Should(Equal([]int32{4, 4}))
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 2 1 Placed", "c 0 -1 Placed"}))
		By("growing: earlier subsets fill up and keep what they have")
		w.scale(ctx, 9)
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed", "c 4 -1 Placed"}))
		By("shrinking: the last subset is emptied first")
		w.scale(ctx, 6)
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed", "c 1 -1 Placed"}))
		w.scale(ctx, 1)
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 1 1 Placed", "b 0 3 Placed", "c 0 -1 Placed"}))
		w.scale(ctx, 9)
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed", "c 4 -1 Placed"}))
		Expect(w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)(Default)).To(Equal("True/Placed"))
		Eventually(ctx, w.eventsAbout(ctx, "WorkloadSpread")).Should(ContainElement(HavePrefix("SharesMoved: ")))

		By("resting without a write")
		var since time.Time
		Eventually(ctx, func() int {
			since = time.Now()
			time.Sleep(1500 * time.Millisecond)
			return len(w.writes(since))
		}).Should(BeZero())
		Consistently(ctx, func() any { return w.writes(since) }, 3*time.Second).Should(BeEmpty())

		By("losing a zone: its replicas go on to the next subset")
		w.zones(ctx, "b,x")
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 0 2 Spilled", "b 3 0 Placed", "c 6 -1 Placed"}))
		w.zones(ctx, "a,b,x")
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed", "c 4 -1 Placed"}))

		By("losing a cluster: what is left of the subsets is filled by the other")
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterNames = w.clusters[1:] })
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"-", "9 b3 c"}))
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 0 2 Spilled", "b 3 0 Placed", "c 6 -1 Placed"}))

		By("going: the workload is divided by weight again, and stays where it is")
		Expect(admin.Delete(ctx, w.spread())).To(Succeed())
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"-", "9"}))
		w.changePlacement(ctx, func(s *fleetv1alpha1.FleetPlacementSpec) { s.ClusterNames = w.clusters })
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"0", "9"}))
		By("coming back: what is there is counted first")
		Expect(admin.Create(ctx, w.spread())).To(Succeed())
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed", "c 4 -1 Placed"}))
		Expect(w.given(ctx)()[0]).To(HavePrefix("2 a2"))

		By("the placement goes, and the WorkloadSpread is told")
		Expect(admin.Delete(ctx, w.placed())).To(Succeed())
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 0 2 NoPlacement", "b 0 3 NoPlacement", "c 0 -1 NoPlacement"}))
		Eventually(ctx, func() any { return w.slices(ctx) }).Should(BeEmpty())
	}, SpecTimeout(2*time.Minute))

	It("is told that pods with numbers cannot be divided", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		template := w.clone(2).Spec.Template
		Expect(admin.Create(ctx, &appsv1beta1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"},
			Spec:       appsv1beta1.StatefulSetSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		})).To(Succeed())
		Expect(admin.Create(ctx, w.spread(func(s *appsv1beta1.WorkloadSpreadSpec) { s.TargetReference.Kind = "StatefulSet" }))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(func(s *fleetv1alpha1.FleetPlacementSpec) { s.TargetRef.Kind = "StatefulSet" }))).To(Succeed())
		Eventually(ctx, w.eventsAbout(ctx, "WorkloadSpread")).Should(ContainElement(ContainSubstring("the hub may not read objects of kind StatefulSet")))
		By("having the right to read it")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "hub-places-statefulsets"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"statefulsets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		}}
		Expect(admin.Create(ctx, role)).To(Succeed())
		bindHub(ctx, role.Name)
		w.changePlacement(ctx, w.bySelector)
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 0 2 TargetNotSupported", "b 0 3 TargetNotSupported", "c 0 -1 TargetNotSupported"}))
		Eventually(ctx, func(g Gomega) string {
			spread := w.spread()
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(spread), spread)).To(Succeed())
			return spread.Status.SubsetStatuses[0].Conditions[0].Message
		}).Should(ContainSubstring("are numbered"))
	})

	It("moves replicas on that find no node, when it is Adaptive", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.zones(ctx, "a,b,c", "a,c,d")
		schedulable.Store(w.clusters[0]+"/b", int32(1))
		schedulable.Store(w.clusters[1]+"/a", int32(0))
		Expect(admin.Create(ctx, w.clone(6))).To(Succeed())
		Expect(admin.Create(ctx, w.spread(func(s *appsv1beta1.WorkloadSpreadSpec) {
			s.ScheduleStrategy = appsv1beta1.WorkloadSpreadScheduleStrategy{
				Type: appsv1beta1.AdaptiveWorkloadSpreadScheduleStrategyType, Adaptive: &appsv1beta1.AdaptiveWorkloadSpreadStrategy{RescheduleCriticalSeconds: ptr.To[int32](5)},
			}
		}))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(placesCloneSet))).To(Succeed())
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 1 2 Spilled", "c 3 -1 Placed"}))
		Eventually(ctx, func() string { return w.given(ctx)()[1] }).Should(ContainSubstring("a0"))
		Consistently(ctx, w.rows(ctx), 2*time.Second).Should(Equal([]string{"a 2 0 Placed", "b 1 2 Spilled", "c 3 -1 Placed"}))
		Expect(conditions.Find(w.placement(ctx, Default).Status.Conditions, fleetv1alpha1.ConditionFleetPlaced).Message).To(
			ContainSubstring("subset b: 2 replicas went on to later subsets: " + w.clusters[0] + ": has 1, more found no node there"))
	})

	It("keeps to the numbers of one cluster when there is one", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		w.zones(ctx, "a,b,c")
		Expect(admin.Create(ctx, w.clone(7))).To(Succeed())
		Expect(admin.Create(ctx, w.spread(func(s *appsv1beta1.WorkloadSpreadSpec) {
			s.Subsets[0].MaxReplicas, s.Subsets[1].MaxReplicas, s.Subsets[2].MaxReplicas = ptr.To(intstr.FromString("30%")), ptr.To(intstr.FromString("50%")), ptr.To(intstr.FromString("20%"))
		}))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(placesCloneSet))).To(Succeed())
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"7 a3 b4 c2"}))
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 3 0 Placed", "b 4 0 Placed", "c 0 2 Placed"}))
	})

	It("gives a member nothing where only the choice of clusters is left", func(ctx SpecContext) {
		w := newWorld(ctx, 2)
		w.zones(ctx, "a", "b")
		Expect(admin.Create(ctx, w.clone(5))).To(Succeed())
		Expect(admin.Create(ctx, w.spread(func(s *appsv1beta1.WorkloadSpreadSpec) {
			s.Subsets = s.Subsets[:2]
			for i := range s.Subsets {
				s.Subsets[i].RequiredNodeSelector.MatchExpressions[0] = corev1.NodeSelectorRequirement{
					Key: fleetv1alpha1.ClusterKey, Operator: corev1.NodeSelectorOpIn, Values: []string{w.clusters[i]},
				}
			}
		}))).To(Succeed())
		Expect(admin.Create(ctx, w.placed(placesCloneSet))).To(Succeed())
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"2", "3"}))
		Eventually(ctx, w.rows(ctx)).Should(Equal([]string{"a 2 0 Placed", "b 3 0 Placed"}))
	})

	It("says what cannot be spread, and that another is there already", func(ctx SpecContext) {
		w := newWorld(ctx, 1)
		w.zones(ctx, "a,b,c")
		Expect(admin.Create(ctx, w.clone(3))).To(Succeed())
		Expect(admin.Create(ctx, w.spread())).To(Succeed())
		Expect(admin.Create(ctx, w.placed(placesCloneSet))).To(Succeed())
		Eventually(ctx, w.given(ctx)).Should(Equal([]string{"3 a2 b3 c"}))
		second := w.spread()
		second.Name = "web-2"
		Expect(admin.Create(ctx, second)).To(Succeed())
		Eventually(ctx, func(g Gomega) string {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			g.Expect(second.Status.SubsetStatuses).NotTo(BeEmpty())
			return second.Status.SubsetStatuses[0].Conditions[0].Reason
		}).Should(Equal(fleetv1alpha1.ReasonTargetTaken))

		By("a bound that is none: members keep what they have")
		spread := w.spread()
		Eventually(ctx, func(g Gomega) { // the hub writes its status meanwhile
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(spread), spread)).To(Succeed())
			spread.Spec.Subsets[0].MaxReplicas = ptr.To(intstr.FromString("5"))
			g.Expect(admin.Update(ctx, spread)).To(Succeed())
		}).Should(Succeed())
		Eventually(ctx, w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)).Should(Equal("False/InvalidTarget"))
		Expect(w.given(ctx)()).To(Equal([]string{"3 a2 b3 c"}))
		Eventually(ctx, w.eventsAbout(ctx, "WorkloadSpread")).Should(ContainElement(And(HavePrefix("InvalidTarget: "), ContainSubstring("spec.subsets[0].maxReplicas"))))

		By("the older one goes, the other takes over")
		Expect(admin.Delete(ctx, spread)).To(Succeed())
		Eventually(ctx, func(g Gomega) string {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			return second.Status.SubsetStatuses[0].Conditions[0].Reason
		}).Should(Equal(fleetv1alpha1.ReasonPlaced))
	})
})
