//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
)

func withClaims(set *appsv1beta1.CloneSet) *appsv1beta1.CloneSet {
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
	return set
}

// ids are the instance ids of objects, by name of what has them.
func ids(objects ...metav1.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.GetLabels()[appsv1beta1.CloneSetInstanceID])
	}
	return out
}

var _ = Describe("claims of a CloneSet", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run := startSpoke(Options{})
		DeferCleanup(func() { run.stop() })
	})
	claims := func() []string {
		var list corev1.PersistentVolumeClaimList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		var out []string
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				out = append(out, list.Items[i].Labels[appsv1beta1.CloneSetInstanceID])
			}
		}
		return out
	}
	podIDs := func() []string {
		var out []string
		for _, pod := range listPods(ctx, ns) {
			out = append(out, ids(&pod)...)
		}
		return out
	}
	// letGo plays the protection controller, which no test server has: nothing uses a claim here.
	letGo := func() {
		var list corev1.PersistentVolumeClaimList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		for i := range list.Items {
			c := &list.Items[i]
			if c.DeletionTimestamp != nil && len(c.Finalizers) > 0 {
				before := c.DeepCopy()
				c.Finalizers = nil
				Expect(client.IgnoreNotFound(admin.Patch(ctx, c, client.MergeFrom(before)))).To(Succeed())
			}
		}
	}

	It("go with pods that the set deletes, and with those that vanish unless they are reused", func() {
		set := withClaims(newSet(ns, 3, appsv1beta1.RecreatePodUpdateStrategyType))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		Expect(claims()).To(ConsistOf(podIDs()))

		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](2) })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Eventually(func(g Gomega) { g.Expect(claims()).To(ConsistOf(podIDs())) }).Should(Succeed())
		letGo()

		gone := listPods(ctx, ns)[0]
		Expect(admin.Delete(ctx, &gone)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(podIDs()).To(HaveLen(2))
			g.Expect(podIDs()).NotTo(ContainElement(ids(&gone)[0]))
			g.Expect(claims()).To(ContainElements(podIDs()))
		}).Should(Succeed())
	})

	It("wait for a new pod of the same instance when they are reused", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType))
		set.Spec.ScaleStrategy.EnablePVCReuse = true
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before := podIDs()
		gone := listPods(ctx, ns)[0]
		Expect(admin.Delete(ctx, &gone)).To(Succeed())
		Eventually(func(g Gomega) {
			pods := listPods(ctx, ns)
			g.Expect(uids(pods)).NotTo(ContainElement(gone.UID))
			g.Expect(podIDs()).To(ConsistOf(before))
		}).Should(Succeed())
		Expect(claims()).To(ConsistOf(before))
	})

	It("are used again when their pod was evicted and they are to be used again", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType))
		set.Spec.ScaleStrategy.EnablePVCReuse = true
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before, beforePods := podIDs(), listPods(ctx, ns)
		evicted := beforePods[0].DeepCopy()
		evicted.Status.Phase = corev1.PodFailed
		Expect(admin.Status().Patch(ctx, evicted, client.MergeFrom(&beforePods[0]))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(uids(listPods(ctx, ns))).NotTo(ContainElement(evicted.UID))
			g.Expect(podIDs()).To(ConsistOf(before))
		}).Should(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(claims()).To(ConsistOf(before))
	})

	It("stay, or go, as their pod does which the set was about to delete when it was cut short", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType))
		set.Spec.ScaleStrategy.EnablePVCReuse = true
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		var list corev1.PersistentVolumeClaimList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		pods := listPods(ctx, ns)
		uids := map[string]string{ids(&pods[0])[0]: string(pods[0].UID), ids(&pods[1])[0]: "of a pod that is gone"}
		for i := range list.Items {
			claim := &list.Items[i]
			before := claim.DeepCopy()
			claim.Annotations = map[string]string{execute.GoesWithPod: uids[ids(claim)[0]]}
			Expect(admin.Patch(ctx, claim, client.MergeFrom(before))).To(Succeed())
		}
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Annotations = map[string]string{"a": "pass"} })
		Eventually(claims).Should(ConsistOf(ids(&pods[0])))
		Eventually(func(g Gomega) {
			g.Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			for i := range list.Items {
				if list.Items[i].DeletionTimestamp == nil {
					g.Expect(list.Items[i].Annotations).NotTo(HaveKey(execute.GoesWithPod))
				}
			}
		}).Should(Succeed())
	})

	It("do not hold the set up while one of them is stuck in deletion", func() {
		set := withClaims(newSet(ns, 1, appsv1beta1.RecreatePodUpdateStrategyType))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
		var list corev1.PersistentVolumeClaimList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		stuck := &list.Items[0]
		before := stuck.DeepCopy()
		stuck.Finalizers = append(stuck.Finalizers, "example.com/stuck")
		Expect(admin.Patch(ctx, stuck, client.MergeFrom(before))).To(Succeed())
		Expect(admin.Delete(ctx, stuck)).To(Succeed())
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](4) })
		Eventually(status(ctx, set)).Should(haveCounts(4, 4, 4))
	})

	It("are waited for when their pod is stuck in deletion and they are to be used again", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType))
		set.Spec.ScaleStrategy.EnablePVCReuse = true
		set.Spec.Template.Finalizers = []string{"example.com/stuck"}
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before := podIDs()
		gone := listPods(ctx, ns)[0]
		Expect(admin.Delete(ctx, &gone)).To(Succeed())
		Eventually(status(ctx, set)).Should(HaveField("Conditions", ContainElement(HaveField("Reason", "ClaimsInUse"))))
		start := time.Now()
		Consistently(func() any { return server.Writes(GinkgoTB(), userAgent, start) }, 2*time.Second, 200*time.Millisecond).Should(BeEmpty())
		// Others go on: only the one instance waits.
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](3) })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))

		Expect(admin.Get(ctx, client.ObjectKeyFromObject(&gone), &gone)).To(Succeed())
		letLoose := gone.DeepCopy()
		gone.Finalizers = nil
		Expect(admin.Patch(ctx, &gone, client.MergeFrom(letLoose))).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		Expect(podIDs()).To(ContainElements(before))
	})
})

var _ = Describe("another claim template", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run := startSpoke(Options{RecreateOnClaimChange: true})
		DeferCleanup(func() { run.stop() })
	})
	sizes := func() []string {
		var list corev1.PersistentVolumeClaimList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		var out []string
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				out = append(out, list.Items[i].Spec.Resources.Requests.Storage().String())
			}
		}
		return out
	}
	grow := func(s *appsv1beta1.CloneSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	}

	It("alone touches nothing; with a new image it forces recreation of pods and claims", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before, history, start := uids(listPods(ctx, ns)), historyOf(ctx, ns)(), time.Now()
		edit(ctx, set, grow)
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(podWrites(start)).To(BeEmpty())
		Expect(historyOf(ctx, ns)()).To(Equal(history), "no new revision")

		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(SatisfyAll(haveCounts(2, 2, 2), HaveField("UpdateRevision", Not(BeElementOf(keysOf(history))))))
		for _, uid := range before {
			Expect(uids(listPods(ctx, ns))).NotTo(ContainElement(uid))
		}
		Eventually(sizes).Should(HaveExactElements("2Gi", "2Gi"))
	})

	It("is not looked at where pods are only ever updated in place", func() {
		set := withClaims(newSet(ns, 2, appsv1beta1.InPlaceOnlyPodUpdateStrategyType))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before := uids(listPods(ctx, ns))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { grow(s); s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Eventually(func() map[string]int { return images(listPods(ctx, ns)) }).Should(Equal(map[string]int{"web:2": 2}))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(before))
		Expect(sizes()).To(HaveExactElements("1Gi", "1Gi"))
	})
})

func keysOf(m map[string]int64) []any {
	var out []any
	for key := range m {
		out = append(out, key)
	}
	return out
}
