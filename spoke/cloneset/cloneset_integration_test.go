//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
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
)

// newSet makes a CloneSet of one container.
func newSet(ns string, replicas int32, policy appsv1beta1.PodUpdateStrategyType) *appsv1beta1.CloneSet {
	labels := map[string]string{"app": "web"}
	return &appsv1beta1.CloneSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: appsv1beta1.CloneSetSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers:                    []corev1.Container{{Name: "main", Image: "web:1"}},
				},
			},
			UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{
				Type:          appsv1beta1.CloneSetRollingUpdateStrategyType,
				RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: policy},
			},
		},
	}
}

// edit changes the set as a user would.
func edit(ctx context.Context, set *appsv1beta1.CloneSet, change func(*appsv1beta1.CloneSet)) {
	GinkgoHelper()
	before := set.DeepCopy()
	change(set)
	Expect(admin.Patch(ctx, set, client.MergeFrom(before))).To(Succeed())
}

func status(ctx context.Context, set *appsv1beta1.CloneSet) func() appsv1beta1.CloneSetStatus {
	return func() appsv1beta1.CloneSetStatus {
		var got appsv1beta1.CloneSet
		if admin.Get(ctx, client.ObjectKeyFromObject(set), &got) != nil || got.Status.ObservedGeneration != got.Generation {
			return appsv1beta1.CloneSetStatus{}
		}
		return got.Status
	}
}

func haveCounts(replicas, updated, updatedAvailable int32) OmegaMatcher {
	return SatisfyAll(
		HaveField("Replicas", replicas), HaveField("AvailableReplicas", replicas),
		HaveField("UpdatedReplicas", updated), HaveField("UpdatedAvailableReplicas", updatedAvailable),
	)
}

func listPods(ctx context.Context, ns string) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
	return list.Items
}

func uids(pods []corev1.Pod) []types.UID {
	var out []types.UID
	for i := range pods {
		out = append(out, pods[i].UID)
	}
	return out
}

func images(pods []corev1.Pod) map[string]int {
	out := map[string]int{}
	for i := range pods {
		out[pods[i].Spec.Containers[0].Image]++
	}
	return out
}

var _ = Describe("a CloneSet", func() {
	var (
		ctx context.Context
		ns  string
		run *spoke
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run = startSpoke(Options{})
		DeferCleanup(func() { run.stop() })
	})

	It("creates, scales, updates in place and counts its writes", func() {
		set := newSet(ns, 5, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		start := time.Now()
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(5, 5, 5))
		Expect(podWrites(start)).To(HaveLen(10), "create and one status patch per pod")

		before := listPods(ctx, ns)
		start = time.Now()
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(5, 5, 5))
		after := listPods(ctx, ns)
		Expect(uids(after)).To(ConsistOf(uids(before)))
		Expect(images(after)).To(Equal(map[string]int{"web:2": 5}))
		for i := range after {
			Expect(after[i].Status.ContainerStatuses[0].RestartCount).To(BeEquivalentTo(1))
		}
		writes := podWrites(start)
		Expect(writes).To(HaveLen(15), "gate down, spec, gate up per pod")

		start = time.Now()
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Replicas = ptr.To[int32](2) })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(podWrites(start)).To(HaveLen(3), "one deletion per pod")

		start = time.Now()
		Consistently(func() any { return server.Writes(GinkgoTB(), userAgent, start) }, 3*time.Second, time.Second).Should(BeEmpty())
	})

	It("makes two writes a pod and few of the status, however many pods", func() {
		const n = 150
		set := newSet(ns, n, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromString("25%"))
		start := time.Now()
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set), 2*time.Minute).Should(haveCounts(n, n, n))
		Expect(podWrites(start)).To(HaveLen(2 * n))
		statusWrites := writesOf(start, "clonesets/status")
		created := time.Since(start)
		Expect(len(statusWrites)).To(BeNumerically("<=", n/50+10+int(created/countersLatest)), "took %s", created)

		start = time.Now()
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set), 2*time.Minute).Should(haveCounts(n, n, n))
		Expect(podWrites(start)).To(HaveLen(3 * n))
		AddReportEntry("figures", fmt.Sprintf("%d pods: created in %s with %d status writes, updated in place in %s with %d",
			n, created, len(statusWrites), time.Since(start), len(writesOf(start, "clonesets/status"))))
	})

	It("recreates pods for a change that cannot be made in place", func() {
		set := newSet(ns, 4, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(4, 4, 4))
		before := listPods(ctx, ns)
		start := time.Now()
		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		})
		Eventually(status(ctx, set)).Should(haveCounts(4, 4, 4))
		Expect(podWrites(start)).To(HaveLen(12), "deletion, creation, gate up per pod")
		for _, uid := range uids(before) {
			Expect(uids(listPods(ctx, ns))).NotTo(ContainElement(uid))
		}
	})

	It("holds the partition and rolls back in place", func() {
		set := newSet(ns, 10, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(8))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		before := listPods(ctx, ns)
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(10, 2, 2))
		Expect(images(listPods(ctx, ns))).To(Equal(map[string]int{"web:1": 8, "web:2": 2}))
		Expect(status(ctx, set)().ExpectedUpdatedReplicas).To(BeEquivalentTo(2))

		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].Image = "web:1"
			s.Spec.UpdateStrategy.RollingUpdate.Partition = nil
		})
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(uids(before)))
		Expect(images(listPods(ctx, ns))).To(Equal(map[string]int{"web:1": 10}))
	})
})

// podWrites are the spoke's writes of pods that changed something since then, as "verb resource".
func podWrites(since time.Time) []string {
	return append(writesOf(since, "pods"), writesOf(since, "pods/status")...)
}

func writesOf(since time.Time, resource string) []string {
	var out []string
	for _, w := range server.Writes(GinkgoTB(), userAgent, since) {
		if w.Code < 300 && w.Resource == resource {
			out = append(out, fmt.Sprintf("%s %s %s %d", w.Verb, w.Resource, w.Name, w.Code))
		}
	}
	return out
}
