// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
	"github.com/flotilla-sh/flotilla/spoke/setup"
)

// guarded is an API server with what the spoke ships, and a spoke.
type guarded struct {
	*testing.T
	server *testkit.Server
	admin  client.Client
	stop   func()
}

// TestBudgets: PodUnavailableBudgets on a real API server, with the webhooks as they are shipped.
func TestBudgets(t *testing.T) {
	on := map[string]bool{string(features.PodUnavailableBudgetUpdateGate): true}
	if err := features.Gate.SetFromMap(on); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = features.Gate.SetFromMap(map[string]bool{string(features.PodUnavailableBudgetUpdateGate): false})
	})
	g := &guarded{T: t, server: testkit.Start(t)}
	var err error
	if g.admin, err = client.New(g.server.ConfigFor("admin"), client.Options{Scheme: setup.Scheme()}); err != nil {
		t.Fatal(err)
	}
	objects := build(t, filepath.Join(testkit.Root(), "kustomize", "spoke"))
	applyAll(t, g.admin, objects)
	hooks := webhookserver.NewOptions(component, namespace)
	hooks.Host, hooks.Port = "127.0.0.1", freePort(t, "127.0.0.1:0")
	g.stop = startIn(t, g.server, "spoke", hooks)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	g.must(g.admin.Create(t.Context(), node))
	node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("1000")}
	g.must(g.admin.Status().Update(t.Context(), node))
	g.await("the webhooks are served", func(ctx context.Context) error { return areTold(ctx, g.admin, objects) })
	for name, spec := range map[string]func(*guarded, string){
		"budget first": budgetFirst, "pods first": podsFirst, "twenty at once": twentyAtOnce, "updates": updates, "exceptions": exceptions,
		"a bad image in place":   badImage(appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType),
		"a bad image, recreated": badImage(appsv1beta1.RecreatePodUpdateStrategyType),
	} {
		t.Run(name, func(t *testing.T) {
			one := *g
			one.T = t
			spec(&one, one.namespace())
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		g.T = t
		nobodyAnswers(g, g.namespace())
	})
}

func (g *guarded) await(what string, holds func(context.Context) error) {
	g.Helper()
	var last error
	err := wait.PollUntilContextTimeout(g.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		g.Fatalf("not so: %s: %v", what, last)
	}
}

func (g *guarded) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) namespace() string {
	g.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	g.must(g.admin.Create(g.Context(), ns))
	return ns.Name
}

// budget makes one of the pods with label app=web.
func (g *guarded) budget(ns, maxUnavailable string, change ...func(*policyv1beta1.PodUnavailableBudget)) *policyv1beta1.PodUnavailableBudget {
	g.Helper()
	limit := intstr.Parse(maxUnavailable)
	b := &policyv1beta1.PodUnavailableBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: policyv1beta1.PodUnavailableBudgetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: &limit,
	}}
	for _, c := range change {
		c(b)
	}
	g.must(g.admin.Create(g.Context(), b))
	return b
}

// owned are n ready pods of a ReplicaSet that wants so many; nothing acts on it.
func (g *guarded) owned(ns string, n int) []*corev1.Pod {
	g.Helper()
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{
		NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "web:1", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")},
		}}},
	}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: ptr.To(int32(n)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
	g.must(g.admin.Create(g.Context(), set))
	var out []*corev1.Pod
	for i := range n {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("web-", i), Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true)},
		}}, Spec: template.Spec}
		g.must(g.admin.Create(g.Context(), pod))
		g.ready(pod, true)
		out = append(out, pod)
	}
	return out
}

// ready says as a kubelet would that a pod runs, and whether it is ready.
func (g *guarded) ready(pod *corev1.Pod, is bool) {
	g.Helper()
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	g.must(g.admin.Status().Patch(g.Context(), pod, client.StrategicMergeFrom(before)))
}

// counted waits until the budget's numbers are those.
func (g *guarded) counted(b *policyv1beta1.PodUnavailableBudget, allowed, current, desired, total int32) {
	g.Helper()
	g.await("the budget's numbers", func(ctx context.Context) error {
		if err := g.admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		s := b.Status
		if s.ObservedGeneration != b.Generation {
			return errors.New("it was not counted yet")
		}
		if have, want := [4]int32{s.UnavailableAllowed, s.CurrentAvailable, s.DesiredAvailable, s.TotalReplicas}, [4]int32{allowed, current, desired, total}; have != want {
			return fmt.Errorf("allowed, current, desired, total are %v, want %v", have, want)
		}
		return nil
	})
}

// stamped waits until all pods bear the budget's name.
func (g *guarded) stamped(b *policyv1beta1.PodUnavailableBudget, pods []*corev1.Pod) {
	g.Helper()
	g.await("the pods are stamped", func(ctx context.Context) error {
		for _, pod := range pods {
			if err := g.admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return err
			}
			if a := pod.Annotations; a["pub.kruise.io/related-pub"] != b.Name || a["kruise.io/related-pub"] != b.Name {
				return fmt.Errorf("%s has %v", pod.Name, a)
			}
		}
		return nil
	})
}

func (g *guarded) evict(pod *corev1.Pod, options ...client.SubResourceCreateOption) error {
	return g.admin.SubResource("eviction").Create(g.Context(), pod, &policyv1.Eviction{}, options...)
}

// denied says whether a budget refused.
func (g *guarded) denied(what string, err error) {
	g.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodUnavailableBudget web: no more pods may be unavailable") {
		g.Errorf("%s: %v", what, err)
	}
}

// PB-01: a budget by selector takes in pods that are made after it, and their number is that of their workload.
func budgetFirst(g *guarded, ns string) {
	b := g.budget(ns, "1")
	g.counted(b, 0, 0, 0, 0)
	pods := g.owned(ns, 3)
	for _, pod := range pods { // by admission, at once
		if pod.Annotations["pub.kruise.io/related-pub"] != "web" {
			g.Errorf("%s is made with %v", pod.Name, pod.Annotations)
		}
	}
	g.counted(b, 1, 3, 2, 3)
	g.must(g.admin.Delete(g.Context(), pods[0]))
	g.denied("a second deletion", g.admin.Delete(g.Context(), pods[1]))
	g.denied("an eviction", g.evict(pods[1]))
	g.must(client.IgnoreNotFound(g.admin.Delete(g.Context(), pods[0], client.GracePeriodSeconds(0)))) // the kubelet's last word
	g.counted(b, 0, 2, 2, 3)
}

// Pods that are there before the budget are stamped, and a stamp of a budget that is gone is replaced. At rest nothing
// is written.
func podsFirst(g *guarded, ns string) {
	pods := g.owned(ns, 2)
	old := g.budget(ns, "50%")
	g.stamped(old, pods)
	g.counted(old, 1, 2, 1, 2)
	g.must(g.admin.Delete(g.Context(), old))
	g.must(g.admin.Delete(g.Context(), pods[0])) // a budget that is gone protects nothing
	next := g.budget(ns, "50%", func(b *policyv1beta1.PodUnavailableBudget) { b.Name = "next" })
	g.stamped(next, pods[1:])
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	g.must(g.admin.Patch(g.Context(), set, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))))
	g.ready(pods[1], false)
	g.ready(pods[1], true)
	g.counted(next, 1, 1, 0, 1)
	since := time.Now()
	time.Sleep(2 * time.Second) // nothing is to happen, which cannot be awaited
	if writes := g.server.Writes(g, "flotilla-spoke", since); len(writes) > 0 {
		g.Errorf("writes at rest: %+v", writes)
	}
}

// Twenty evictions at once, three allowed: three pass. A dry run takes nothing.
func twentyAtOnce(g *guarded, ns string) {
	b := g.budget(ns, "3")
	pods := g.owned(ns, 20)
	g.counted(b, 3, 20, 17, 20)
	g.must(g.evict(pods[0], client.DryRunAll))
	g.must(client.NewDryRunClient(g.admin).Delete(g.Context(), pods[0]))
	g.counted(b, 3, 20, 17, 20)
	var passed atomic.Int32
	var all sync.WaitGroup
	for _, pod := range pods {
		all.Go(func() {
			if err := g.evict(pod); err == nil {
				passed.Add(1)
			} else {
				g.denied("eviction of "+pod.Name, err)
			}
		})
	}
	all.Wait()
	if passed.Load() != 3 {
		g.Errorf("%d evictions passed", passed.Load())
	}
}

func (g *guarded) patch(pod *corev1.Pod, body string) error {
	return g.admin.Patch(g.Context(), pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(body)))
}

// Of updates those count that may take a pod out of service.
func updates(g *guarded, ns string) {
	b := g.budget(ns, "1")
	pods := g.owned(ns, 3)
	g.counted(b, 1, 3, 2, 3)
	image := `{"spec":{"containers":[{"name":"main","image":"web:2"}]}}`
	g.must(g.patch(pods[0], image))
	g.must(g.admin.Get(g.Context(), client.ObjectKeyFromObject(b), b))
	if _, booked := b.Status.UnavailablePods["web-0"]; !booked || b.Status.UnavailableAllowed != 0 {
		g.Errorf("%+v", b.Status)
	}
	g.must(g.patch(pods[0], `{"spec":{"containers":[{"name":"main","image":"web:3"}]}}`)) // it is in the books
	g.denied("another pod's image", g.patch(pods[1], image))
	g.denied("a label that marks it", g.patch(pods[1], `{"metadata":{"labels":{"unavailable-pod.kruise.io/x":""}}}`))
	resize := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m"}}}]}}`))
	g.denied("a resize, gate InPlacePodVerticalScaling is off", g.admin.SubResource("resize").Patch(g.Context(), pods[1].DeepCopy(), resize))
	g.must(g.patch(pods[1], `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`))
	g.ready(pods[1], false)
	g.must(g.patch(pods[1], image)) // it is unavailable already
}

// What passes though the budget is spent.
func exceptions(g *guarded, ns string) {
	b := g.budget(ns, "0")
	pods := g.owned(ns, 4)
	g.counted(b, 0, 4, 4, 4)
	g.denied("an eviction", g.evict(pods[0]))
	g.must(g.patch(pods[0], `{"metadata":{"annotations":{"pub.kruise.io/no-protect":"true"}}}`))
	g.await("an eviction of what is not to be protected", func(context.Context) error { return g.evict(pods[0]) })
	g.must(g.patch(pods[1], `{"metadata":{"labels":{"free":"yes"}}}`))
	ignored := b.DeepCopy()
	ignored.Spec.IgnoredPodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"free": "yes"}}
	g.must(g.admin.Patch(g.Context(), ignored, client.MergeFrom(b)))
	g.await("an eviction of what is ignored", func(context.Context) error { return g.evict(pods[1]) })

	// PB-07: where the controller is gone the garbage collector is let through, and where the namespace goes, all are.
	g.denied("a deletion", g.admin.Delete(g.Context(), pods[2]))
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
	g.must(g.admin.Delete(g.Context(), set, client.PropagationPolicy(metav1.DeletePropagationOrphan), client.GracePeriodSeconds(0)))
	g.await("the set is gone", func(ctx context.Context) error {
		set.Finalizers = nil
		_ = g.admin.Update(ctx, set)
		if err := g.admin.Get(ctx, client.ObjectKeyFromObject(set), set); !apierrors.IsNotFound(err) {
			set.Finalizers = nil
			_ = g.admin.Update(ctx, set)
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	g.must(g.admin.Delete(g.Context(), pods[2]))
	alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "alone", Labels: map[string]string{"app": "web"}}, Spec: pods[3].Spec}
	alone.Spec.Volumes, alone.Spec.Containers[0].VolumeMounts = nil, nil
	g.must(g.admin.Create(g.Context(), alone))
	g.ready(alone, true)
	protect := b.DeepCopy()
	protect.Spec.ProtectTotalReplicas = ptr.To[int32](4)
	g.must(g.admin.Patch(g.Context(), protect, client.MergeFrom(b)))
	g.await("a pod of its own is protected", func(context.Context) error {
		if err := client.NewDryRunClient(g.admin).Delete(g.Context(), alone); !apierrors.IsForbidden(err) {
			return fmt.Errorf("deletion: %w", err)
		}
		return nil
	})
	g.must(g.admin.Delete(g.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	g.must(g.admin.Delete(g.Context(), alone))
}

// nobodyAnswers: while there is no spoke, protected pods are neither deleted nor updated in earnest, and nothing
// else is held up: not the kubelet, not other pods, not evictions, and there is a way out.
func nobodyAnswers(g *guarded, ns string) {
	b := g.budget(ns, "1")
	pods := g.owned(ns, 4)
	g.counted(b, 1, 4, 3, 4)
	g.must(g.admin.Delete(g.Context(), pods[0]))
	free := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "free"}, Spec: corev1.PodSpec{NodeName: "node-1", Containers: pods[0].Spec.Containers[:1]}}
	free.Spec.Containers[0].VolumeMounts = nil
	g.must(g.admin.Create(g.Context(), free))
	g.stop()
	if err := g.admin.Delete(g.Context(), pods[1]); !apierrors.IsInternalError(err) {
		g.Errorf("deletion of a protected pod: %v", err)
	}
	if err := g.patch(pods[1], `{"spec":{"containers":[{"name":"main","image":"web:2"}]}}`); !apierrors.IsInternalError(err) {
		g.Errorf("update of a protected pod: %v", err)
	}
	g.must(g.admin.Delete(g.Context(), pods[0], client.GracePeriodSeconds(0)))
	g.ready(pods[1], false)
	g.must(g.patch(pods[1], `{"metadata":{"labels":{"a":"b"}}}`))
	g.must(g.patch(free, `{"spec":{"containers":[{"name":"main","image":"web:2"}]}}`))
	g.must(g.admin.Delete(g.Context(), free))
	g.must(g.patch(pods[1], `{"metadata":{"annotations":{"pub.kruise.io/no-protect":"true"}}}`))
	g.must(g.admin.Delete(g.Context(), pods[1]))
	g.must(g.evict(pods[2]))
}
