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
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

var _ = Describe("a CloneSet whose pods are refused", func() {
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
	failedScale := func(set *appsv1beta1.CloneSet) func() *appsv1beta1.Condition {
		return func() *appsv1beta1.Condition {
			return conditions.FindCompat(status(ctx, set)().Conditions, appsv1beta1.CloneSetConditionFailedScale)
		}
	}
	// writes counts what the spoke sent to this namespace, by verb and resource.
	writes := func(since time.Time) func() map[string]int {
		return func() map[string]int {
			out := map[string]int{}
			for _, w := range server.Writes(GinkgoTB(), userAgent, since) {
				if w.Namespace == ns {
					out[w.Verb+" "+w.Resource]++
				}
			}
			return out
		}
	}
	onePod := func() {
		GinkgoHelper()
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
	}
	// backsOff holds for a refusal that lasts: the waits double, so three seconds see few attempts, and
	// what was written once is not written again.
	backsOff := func(set *appsv1beta1.CloneSet) {
		GinkgoHelper()
		Eventually(failedScale(set)).Should(HaveField("Message", ContainSubstring("exceeded quota")))
		Eventually(func() int { return writes(time.Time{})()["create pods"] }).Should(BeNumerically(">=", 3))
		before, since := failedScale(set)(), time.Now()
		Consistently(writes(since), 3*time.Second, 500*time.Millisecond).Should(Or(
			BeEmpty(), And(HaveLen(1), HaveKeyWithValue("create pods", BeNumerically("<=", 10)))), "nothing but attempts")
		Expect(failedScale(set)()).To(Equal(before))
	}

	It("backs off and says it once", func() {
		onePod()
		set := newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		backsOff(set)
		Expect(failedScale(set)().Message).To(ContainSubstring("create pod web-*"))
	})

	It("keeps the claims made for them until they are made, or not wanted", func() {
		onePod()
		set := withClaims(newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType))
		Expect(admin.Create(ctx, set)).To(Succeed())
		backsOff(set)
		Expect(writes(time.Time{})()).To(HaveKeyWithValue("create persistentvolumeclaims", 1))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { *s.Spec.Replicas = 0 })
		Eventually(func() []corev1.PersistentVolumeClaim {
			var list corev1.PersistentVolumeClaimList
			Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}).Should(HaveEach(HaveField("DeletionTimestamp", Not(BeNil()))))
		Eventually(failedScale(set)).Should(BeNil())
	})

	It("makes no pods that its selector would not match", func() {
		set := newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before, labels, since := uids(listPods(ctx, ns)), set.Spec.Template.Labels, time.Now()
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Labels = map[string]string{"app": "other"} })
		Eventually(status(ctx, set)).Should(HaveField("Conditions", ContainElement(SatisfyAll(
			HaveField("Type", appsv1beta1.CloneSetConditionWaiting), HaveField("Reason", "InvalidSelector"),
			HaveField("Message", ContainSubstring("does not match the labels of spec.template"))))))
		Expect(status(ctx, set)()).To(haveCounts(2, 2, 2), "the counters stay")
		Consistently(writes(since), "2s", "200ms").Should(Equal(map[string]int{"patch clonesets/status": 1}))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(before))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Labels, *s.Spec.Replicas = labels, 3 })
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		Expect(uids(listPods(ctx, ns))).To(ContainElements(before))
		Expect(status(ctx, set)().Conditions).To(BeEmpty())
	})

	It("makes nothing of a namespace that is being deleted", func() {
		set := newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		// Nothing here takes the finalizer off, so it stays as a namespace is while it is emptied.
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		since := time.Now()
		pods := listPods(ctx, ns)
		Expect(admin.Delete(ctx, &pods[0])).To(Succeed())
		Eventually(status(ctx, set)).Should(HaveField("Replicas", int32(1)))
		Eventually(func() int { return writes(since)()["create pods"] }).Should(BeNumerically(">=", 1))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(func() int { return writes(since)()["create controllerrevisions"] }).Should(BeNumerically(">=", 1))
		since = time.Now()
		Consistently(writes(since), 3*time.Second).Should(BeEmpty())
		Expect(failedScale(set)()).To(BeNil())
		Expect(admin.Delete(ctx, set)).To(Succeed()) // a controller that starts would try once more
	})
})
