// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

var _ = Describe("A rollout of a CloneSet", Label("cloneset", "workloads"), func() {
	It("updates one pod of four at partition 99%, none back at a raised one, and says both", func(ctx SpecContext) {
		set := shop(ctx, 4, harness.Partition("99%"))
		edit(ctx, set, harness.Image("web", "web:v2"))
		stays(ctx, set, "map[web:v1:3 web:v2:1]")
		Expect(status(ctx, set).ExpectedUpdatedReplicas).To(BeEquivalentTo(1))
		waits(ctx, set, "PartitionReached", "keeps 3 pods")

		edit(ctx, set, harness.Partition("1"))
		stays(ctx, set, "map[web:v1:1 web:v2:3]")
		edit(ctx, set, harness.Partition("3"))
		stays(ctx, set, "map[web:v1:1 web:v2:3]")
		Expect(status(ctx, set)).To(SatisfyAll(HaveField("ExpectedUpdatedReplicas", int32(1)), HaveField("UpdatedReplicas", int32(3))))
		waits(ctx, set, "PartitionReached", "3")
		edit(ctx, set, harness.Image("web", "web:v3"), harness.Partition("0"))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v3:4]"))
	}, SpecTimeout(4*time.Minute))

	It("uses its surge up, and makes no more new pods than the partition allows", func(ctx SpecContext) {
		set := shop(ctx, 8, recreate, harness.MaxUnavailable("0"), harness.MaxSurge("50%"), harness.Partition("6"))
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v1:6 web:v2:2]"))
		Expect([]int{watch.FewestReady(), watch.Most(), watch.Born()}).To(Equal([]int{8, 10, 10}))

		watch.Reset()
		edit(ctx, set, harness.Partition("0"), harness.MaxSurge("3"))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v2:8]"))
		Expect([]int{watch.FewestReady(), watch.Most(), watch.Born()}).To(Equal([]int{8, 11, 16}))
	}, SpecTimeout(4*time.Minute))

	It("surges further when maxSurge is raised before the first new pods are available", func(ctx SpecContext) {
		set := shop(ctx, 4, recreate, harness.MaxUnavailable("0"), harness.MaxSurge("50%"))
		edit(ctx, set, harness.Image("web", "web:v2"), minReady(3600))
		stays(ctx, set, "map[web:v1:4 web:v2:2]")
		waits(ctx, set, "MaxUnavailableReached")
		edit(ctx, set, harness.MaxSurge("100%"))
		stays(ctx, set, "map[web:v1:4 web:v2:4]")
		edit(ctx, set, minReady(0))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v2:4]"))
	}, SpecTimeout(4*time.Minute))

	It("makes no pod of the new revision while paused, and takes back its surge when it is paused midway", func(ctx SpecContext) {
		set := shop(ctx, 4, recreate, harness.MaxUnavailable("0"), harness.MaxSurge("50%"), harness.Paused(true), fake("unready-images", "web:v2"))
		edit(ctx, set, harness.Image("web", "web:v2"))
		waits(ctx, set, "Paused")
		stays(ctx, set, "map[web:v1:4]")
		edit(ctx, set, harness.Paused(false))
		stays(ctx, set, "map[web:v1:4 web:v2:2]")
		edit(ctx, set, harness.Paused(true))
		stays(ctx, set, "map[web:v1:4]")
		edit(ctx, set, harness.Paused(false), harness.Image("web", "web:v3"))
		settled(ctx, set)
		Expect(images(ctx, set)()).To(Equal("map[web:v3:4]"))
	}, SpecTimeout(4*time.Minute))

	It("keeps the healthy pod when an image that cannot be had is taken back", func(ctx SpecContext) {
		set := shop(ctx, 1, recreate, harness.MaxUnavailable("10%"), harness.MaxSurge("50%"), fake("failing-images", "web:v2"))
		good := thePod(ctx, set)
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, set, harness.Image("web", "web:v2"))
		stays(ctx, set, "map[web:v1:1 web:v2:1]")
		edit(ctx, set, harness.Image("web", "web:v1"))
		settled(ctx, set)
		Expect(thePod(ctx, set).UID).To(Equal(good.UID))
		Expect(watch.FewestReady()).To(Equal(1))
	}, SpecTimeout(4*time.Minute))

	It("is paced by minReadySeconds, one pod after the other", func(ctx SpecContext) {
		set := shop(ctx, 3, recreate, harness.MaxUnavailable("0"), harness.MaxSurge("1"), minReady(2))
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		apart(podsOf(ctx, set), 2*time.Second)
	}, SpecTimeout(4*time.Minute))

	It("does not wait for pods that are down already", func(ctx SpecContext) {
		set := begun(ctx, 4, harness.MaxUnavailable("1"), fake("failing-images", "web:v1"))
		Eventually(ctx, func() []corev1.Pod { return podsOf(ctx, set) }).WithTimeout(soon).Should(HaveLen(4))
		before := harness.ByUID(podsOf(ctx, set))
		waits(ctx, set, "PodsNotReady")
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		for uid := range harness.ByUID(podsOf(ctx, set)) {
			Expect(before).To(HaveKey(uid))
		}
	}, SpecTimeout(4*time.Minute))

	It("ends for another tag of the same digest without a node agent", func(ctx SpecContext) {
		set := shop(ctx, 2, harness.MaxUnavailable("100%"))
		before := harness.ByUID(podsOf(ctx, set))
		edit(ctx, set, harness.Image("web", "web:v1--again"))
		settled(ctx, set)
		for _, pod := range podsOf(ctx, set) {
			old := before[pod.UID]
			was, is := old.Status.ContainerStatuses[0], pod.Status.ContainerStatuses[0]
			Expect([]any{is.ImageID, is.RestartCount}).To(Equal([]any{was.ImageID, was.RestartCount + 1}))
		}
	}, SpecTimeout(4*time.Minute))

	It("leaves pods alone with OnDelete, and gives the new revision to those that replace deleted ones", func(ctx SpecContext) {
		set := shop(ctx, 5, func(set *appsv1beta1.CloneSet) {
			set.Spec.UpdateStrategy = appsv1beta1.CloneSetUpdateStrategy{Type: appsv1beta1.CloneSetOnDeleteUpdateStrategyType}
		})
		edit(ctx, set, harness.Image("web", "web:v2"))
		waits(ctx, set, "OnDelete")
		stays(ctx, set, "map[web:v1:5]")
		for _, pod := range podsOf(ctx, set)[:2] {
			Expect(member.Delete(ctx, &pod)).To(Succeed())
		}
		allReady(ctx, set, "map[web:v1:3 web:v2:2]")
		edit(ctx, set, harness.Replicas(3))
		allReady(ctx, set, "map[web:v1:1 web:v2:2]")
		edit(ctx, set, harness.Replicas(5))
		allReady(ctx, set, "map[web:v1:1 web:v2:4]")
		Eventually(ctx, func() int32 { return status(ctx, set).UpdatedReplicas }).WithTimeout(soon).Should(BeEquivalentTo(4))
	}, SpecTimeout(4*time.Minute))
})

// allReady waits until the pods have these images and are all ready.
func allReady(ctx context.Context, set *appsv1beta1.CloneSet, want string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(images(ctx, set)()).To(Equal(want))
		list := podsOf(ctx, set)
		for i := range list {
			g.Expect(pods.IsReady(&list[i])).To(BeTrue(), list[i].Name)
		}
	}).WithTimeout(soon).Should(Succeed())
}

// apart wants each pod to have been made that long after the one before was ready. The API tells whole seconds.
func apart(list []corev1.Pod, wait time.Duration) {
	GinkgoHelper()
	slices.SortFunc(list, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := 1; i < len(list); i++ {
		ready := pods.Condition(&list[i-1], corev1.PodReady).LastTransitionTime
		Expect(list[i].CreationTimestamp.Sub(ready.Time)).To(BeNumerically(">=", wait), "%s after %s", list[i].Name, list[i-1].Name)
	}
}
