// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

var serial atomic.Int32

// world is one test's namespace and its clusters.
type world struct {
	ns       string
	clusters []string
}

// newWorld makes a namespace and n clusters with agents that do as they are told. Cluster i is labelled
// i=<i> and has region r<i>.
func newWorld(ctx context.Context, n int) *world {
	GinkgoHelper()
	id := serial.Add(1)
	w := &world{ns: fmt.Sprintf("shop-%d", id)}
	ensureNamespace(ctx, w.ns)
	for i := range n {
		w.join(ctx, fmt.Sprintf("w%d-m%d", id, i), i)
	}
	return w
}

// join makes a ManagedCluster, its namespace and its agent.
func (w *world) join(ctx context.Context, name string, i int) {
	GinkgoHelper()
	w.clusters = append(w.clusters, name)
	ensureNamespace(ctx, name)
	mc := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"world": w.ns, "i": fmt.Sprint(i)}},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
	Expect(admin.Create(ctx, mc)).To(Succeed())
	mc.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "region", Value: fmt.Sprint("r", i)}}
	setAvailable(mc, metav1.ConditionTrue)
	Expect(admin.Status().Update(ctx, mc)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		_ = admin.Delete(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
	startAgent(name)
}

func setAvailable(mc *clusterv1.ManagedCluster, status metav1.ConditionStatus) {
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "Test"})
}

func ensureNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	err := admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// changeCluster updates a ManagedCluster, its status too.
func changeCluster(ctx context.Context, name string, change func(*clusterv1.ManagedCluster)) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		mc := &clusterv1.ManagedCluster{}
		g.Expect(admin.Get(ctx, client.ObjectKey{Name: name}, mc)).To(Succeed())
		change(mc)
		status := mc.Status
		g.Expect(admin.Update(ctx, mc)).To(Succeed())
		mc.Status = status
		g.Expect(admin.Status().Update(ctx, mc)).To(Succeed())
	}).Should(Succeed())
}

// agents by cluster.
var agents = map[string]*agent{}

// agent stands for a member: it applies slices at once, reports that all its pods are ready, and lets go
// of slices that are being deleted.
type agent struct {
	cluster string
	client  client.Client
	silent  atomic.Bool // reports nothing, renews nothing
	away    atomic.Bool // renews, but does nothing with slices
	deleted atomic.Int32
}

func startAgent(cluster string) {
	GinkgoHelper()
	c, err := client.New(server.ConfigFor("agent"), client.Options{Scheme: Scheme()})
	Expect(err).NotTo(HaveOccurred())
	a := &agent{cluster: cluster, client: c}
	agents[cluster] = a
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	DeferCleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			a.pass(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
}

func (a *agent) pass(ctx context.Context) {
	if a.silent.Load() {
		return
	}
	a.renew(ctx)
	var list fleetv1alpha1.FleetSliceList
	if a.away.Load() || a.client.List(ctx, &list, client.InNamespace(a.cluster)) != nil {
		return
	}
	for i := range list.Items {
		s := &list.Items[i]
		if a.silent.Load() || a.away.Load() {
			return
		}
		if !s.DeletionTimestamp.IsZero() {
			s.Finalizers = nil
			if a.client.Update(ctx, s) == nil {
				a.deleted.Add(1)
			}
			continue
		}
		if s.Status.ObservedGeneration != s.Generation {
			a.report(ctx, s)
		}
	}
}

// renew writes the lease about once a second.
func (a *agent) renew(ctx context.Context) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.cluster, Name: fleetv1alpha1.AddOnName}}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	now := metav1.NowMicro()
	switch {
	case apierrors.IsNotFound(err):
		lease.Spec.RenewTime = &now
		_ = a.client.Create(ctx, lease)
	case err == nil && now.Sub(lease.Spec.RenewTime.Time) > time.Second:
		lease.Spec.RenewTime = &now
		_ = a.client.Update(ctx, lease)
	}
}

func (a *agent) report(ctx context.Context, s *fleetv1alpha1.FleetSlice) {
	s.Status.ObservedGeneration = s.Generation
	s.Status.ObjectGeneration, s.Status.ObjectObservedGeneration = s.Generation, s.Generation
	s.Status.Subsets = nil
	for _, part := range s.Spec.Split {
		updated := part.Replicas
		for _, p := range s.Spec.Partitions {
			if p.Subset == part.Subset {
				updated -= p.Partition
			}
		}
		s.Status.Subsets = append(s.Status.Subsets, fleetv1alpha1.SubsetCounters{
			Subset: part.Subset, Replicas: part.Replicas, ReadyReplicas: part.Replicas, UpdatedReplicas: updated, UpdatedReadyReplicas: updated,
		})
	}
	s.Status.Spread = spreadIn(s)
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: fleetv1alpha1.SliceConditionApplied, Status: metav1.ConditionTrue, Reason: fleetv1alpha1.SliceReasonApplied, ObservedGeneration: s.Generation})
	_ = a.client.Status().Update(ctx, s)
}

// slices returns the slices of the world's namespace, by cluster.
func (w *world) slices(ctx context.Context) map[string]*fleetv1alpha1.FleetSlice {
	GinkgoHelper()
	out := map[string]*fleetv1alpha1.FleetSlice{}
	var list fleetv1alpha1.FleetSliceList
	Expect(admin.List(ctx, &list)).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Spec.Source.Namespace == w.ns {
			out[list.Items[i].Namespace] = &list.Items[i]
		}
	}
	return out
}

// shares returns each cluster's replicas, in order of clusters; -1 for none.
func (w *world) shares(ctx context.Context) func() []int32 {
	return func() []int32 {
		found := w.slices(ctx)
		var out []int32
		for _, c := range w.clusters {
			n := int32(-1)
			if s := found[c]; s != nil {
				n = 0
				for _, part := range s.Spec.Split {
					n += part.Replicas
				}
			}
			out = append(out, n)
		}
		return out
	}
}

func sumOf(list []int32) (total int32) {
	for _, n := range list {
		total += max(n, 0)
	}
	return total
}

func (w *world) ud(ctx context.Context, g Gomega) *appsv1beta1.UnitedDeployment {
	ud := &appsv1beta1.UnitedDeployment{}
	g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "web"}, ud)).To(Succeed())
	return ud
}

// change updates the workload.
func (w *world) change(ctx context.Context, change func(*appsv1beta1.UnitedDeployment)) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ud := w.ud(ctx, g)
		change(ud)
		g.Expect(admin.Update(ctx, ud)).To(Succeed())
	}).Should(Succeed())
}

// changePlacement updates the placement.
func (w *world) changePlacement(ctx context.Context, change func(*fleetv1alpha1.FleetPlacementSpec)) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		p := w.placement(ctx, g)
		change(&p.Spec)
		g.Expect(admin.Update(ctx, p)).To(Succeed())
	}).Should(Succeed())
}

func (w *world) placement(ctx context.Context, g Gomega) *fleetv1alpha1.FleetPlacement {
	p := &fleetv1alpha1.FleetPlacement{}
	g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "web"}, p)).To(Succeed())
	return p
}

// condition returns "Status/Reason" of the placement's condition.
func (w *world) condition(ctx context.Context, conditionType string) func(Gomega) string {
	return func(g Gomega) string {
		c := conditions.Find(w.placement(ctx, g).Status.Conditions, conditionType)
		if c == nil {
			return "absent"
		}
		return string(c.Status) + "/" + c.Reason
	}
}

// settled waits until the hub's status says that all n replicas are there, updated and ready.
func (w *world) settled(ctx context.Context, n int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		ud := w.ud(ctx, g)
		s := ud.Status
		g.Expect([]int32{s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.UpdatedReadyReplicas}).To(Equal([]int32{n, n, n, n}))
		g.Expect(s.ObservedGeneration).To(Equal(ud.Generation))
		g.Expect(w.condition(ctx, fleetv1alpha1.ConditionFleetPlaced)(g)).To(Equal("True/Placed"))
		g.Expect(w.condition(ctx, fleetv1alpha1.ConditionFleetProgressing)(g)).To(Equal("False/Complete"))
		g.Expect(w.condition(ctx, fleetv1alpha1.ConditionFleetStatusFresh)(g)).To(Equal("True/Fresh"))
	}).Should(Succeed())
}
