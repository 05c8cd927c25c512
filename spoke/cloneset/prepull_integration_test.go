//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("images pulled ahead", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run := startSpoke(Options{PreDownload: true})
		DeferCleanup(run.stop)
	})

	jobs := func(g Gomega) []appsv1beta1.ImagePullJob {
		var list appsv1beta1.ImagePullJobList
		g.Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		return list.Items
	}
	marks := func(g Gomega, key string) int {
		var list appsv1.ControllerRevisionList
		g.Expect(admin.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{key: "true"})).To(Succeed())
		return len(list.Items)
	}
	settled := func(set *appsv1beta1.CloneSet, updated int32) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			got := &appsv1beta1.CloneSet{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), got)).To(Succeed())
			g.Expect(got.Status.ObservedGeneration).To(Equal(got.Generation))
			g.Expect(got.Status.UpdatedReadyReplicas).To(Equal(updated))
		}).Should(Succeed())
	}

	It("are those of the rollout, once the first pods are ready, and forgotten at its end", func() {
		set := newSet(ns, 5, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		rolling.Partition = ptr.To(intstr.FromInt32(4))
		rolling.InPlaceUpdateStrategy = &appsv1beta1.InPlaceUpdateStrategy{ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](1)}
		Expect(admin.Create(ctx, set)).To(Succeed())
		settled(set, 5)
		Expect(jobs(Default)).To(BeEmpty())

		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		settled(set, 1)
		Eventually(func(g Gomega) {
			list := jobs(g)
			g.Expect(list).To(HaveLen(1))
			g.Expect(list[0].Spec.Image).To(Equal("web:2"))
			g.Expect(list[0].OwnerReferences).To(HaveLen(1))
			g.Expect(list[0].OwnerReferences[0].UID).To(Equal(set.UID))
			g.Expect(marks(g, appsv1beta1.ImagePreDownloadCreatedKey)).To(Equal(1))
		}).Should(Succeed())

		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(0))
		})
		settled(set, 5)
		Eventually(jobs).Should(BeEmpty())
	})

	It("are none where pods are recreated", func() {
		set := newSet(ns, 5, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		settled(set, 5)
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		settled(set, 5)
		Expect(marks(Default, appsv1beta1.ImagePreDownloadIgnoredKey)).To(Equal(1))
		Expect(jobs(Default)).To(BeEmpty())
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(SatisfyAll(
				HaveField("Reason", "IgnoredImagePreDownload"), HaveField("Note", ContainSubstring("pods are not updated in place")))))
		}).Should(Succeed())
	})
})
