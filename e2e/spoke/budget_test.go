// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// budget bounds the pods with label app=web, and waits until as many may go.
func budget(ctx context.Context, ns, maxUnavailable string, allowed int32) *policyv1beta1.PodUnavailableBudget {
	GinkgoHelper()
	b := &policyv1beta1.PodUnavailableBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: policyv1beta1.PodUnavailableBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			MaxUnavailable: ptr.To(intstr.Parse(maxUnavailable)),
		},
	}
	Expect(member.Create(ctx, b)).To(Succeed())
	allows(ctx, b, allowed)
	return b
}

func allows(ctx context.Context, b *policyv1beta1.PodUnavailableBudget, allowed int32) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(b.Status.ObservedGeneration).To(Equal(b.Generation))
		g.Expect(b.Status.UnavailableAllowed).To(Equal(allowed))
	}).WithTimeout(soon).Should(Succeed())
}

// deployment makes one more workload whose pods have label app=web.
func deployment(ctx context.Context, ns, name string, replicas int32) *appsv1.Deployment {
	GinkgoHelper()
	labels := map[string]string{"app": "web", "deployment": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To(int64(1)), Containers: []corev1.Container{{Name: "web", Image: "web:v1"}},
			}},
		},
	}
	Expect(member.Create(ctx, d)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		g.Expect(d.Status.AvailableReplicas).To(Equal(replicas))
	}).WithTimeout(soon).Should(Succeed())
	return d
}

var _ = Describe("A PodUnavailableBudget", Label("budget", "protection"), func() {
	It("lets all nodes be drained at once, two pods of two workloads at a time", func(ctx SpecContext) {
		ns := namespace(ctx)
		first, second := deployment(ctx, ns, "first", 4), deployment(ctx, ns, "second", 4)
		b := budget(ctx, ns, "25%", 2)
		Expect(b.Status.TotalReplicas).To(Equal(int32(8)))
		before, err := member.Pods(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		watch, err := member.WatchPods(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		var drains sync.WaitGroup
		for i := range before {
			drains.Go(func() {
				defer GinkgoRecover()
				Eventually(ctx, func() error { // as a drain does
					return client.IgnoreNotFound(member.SubResource("eviction").Create(ctx, &before[i], &policyv1.Eviction{}))
				}).WithTimeout(3 * time.Minute).WithPolling(300 * time.Millisecond).Should(Succeed())
			})
		}
		drains.Wait()
		for _, d := range []*appsv1.Deployment{first, second} {
			Eventually(func(g Gomega) {
				g.Expect(member.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
				g.Expect(d.Status.AvailableReplicas).To(Equal(int32(4)))
			}).WithTimeout(soon).Should(Succeed())
		}
		Expect(watch.FewestReady()).To(BeNumerically(">=", 6))
		allows(ctx, b, 2)
		for _, pod := range before {
			err := member.Get(ctx, client.ObjectKeyFromObject(&pod), &corev1.Pod{})
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s: %v", pod.Name, err)
		}
		since := time.Now()
		time.Sleep(3 * time.Second) // nothing is to happen, which cannot be awaited
		writes, err := member.Writes("flotilla-spoke", since)
		Expect(err).NotTo(HaveOccurred())
		for _, w := range writes {
			Expect(w.Namespace).NotTo(Equal(ns), "a write at rest: %+v", w)
		}
	}, SpecTimeout(6*time.Minute))

	// The row of the specification: one pod stays old until the image is put right.
	for name, way := range map[string]harness.Change{"in place": func(*appsv1beta1.CloneSet) {}, "by recreation": recreate} {
		It("keeps a CloneSet from spreading a bad image "+name, Label("cloneset"), func(ctx SpecContext) {
			set := shop(ctx, 2, way, fake("failing-images", "web:bad"), harness.MaxUnavailable("100%"))
			b := budget(ctx, set.Namespace, "50%", 1)
			edit(ctx, set, harness.Image("web", "web:bad"))
			stays(ctx, set, "map[web:bad:1 web:v1:1]")
			waits(ctx, set, "PodUnavailableBudget", "PodUnavailableBudget web: no more pods may be unavailable: 1 of 2 are available, 1 have to be")
			Consistently(ctx, images(ctx, set)).WithTimeout(12 * time.Second).Should(Equal("map[web:bad:1 web:v1:1]")) // longer than entries last
			edit(ctx, set, harness.Image("web", "web:v2"))
			settled(ctx, set)
			Expect(images(ctx, set)()).To(Equal("map[web:v2:2]"))
			allows(ctx, b, 1)
		}, SpecTimeout(4*time.Minute))
	}
})
