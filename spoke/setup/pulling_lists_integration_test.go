//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("what becomes of pull jobs", Label("integration"), func() {
	It("is told of a list: its children are garbage with it, and it goes after its time", func(ctx context.Context) {
		startPulling(defaults)
		startAgents(50 * time.Millisecond)
		newNodes(ctx, "ttl", 1, map[string]string{"pool": "ttl"})
		ns := newPullNamespace(ctx)
		list := &appsv1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ttl"}}
		list.Spec.Images = []string{"ttl/a:1", "ttl/b:1"}
		list.Spec.Selector = &appsv1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "ttl"}}}
		list.Spec.CompletionPolicy.Type = appsv1beta1.CompletionPolicyNever
		Expect(admin.Create(ctx, list)).To(Succeed())
		children := func() []appsv1beta1.ImagePullJob {
			var jobs appsv1beta1.ImagePullJobList
			Expect(admin.List(ctx, &jobs, client.InNamespace(ns))).To(Succeed())
			return jobs.Items
		}
		Eventually(children).Should(HaveLen(2))
		want := []metav1.OwnerReference{{
			APIVersion: "apps.kruise.io/v1beta1", Kind: "ImageListPullJob", Name: "ttl", UID: list.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}
		Expect(children()).To(HaveEach(HaveField("OwnerReferences", want)))
		Eventually(told(ctx, list)).Should(ContainElement("Successful create ImagePullJob: Create 2 ImagePullJob"))

		By("taking an image out")
		patch := func(body string) {
			GinkgoHelper()
			Expect(admin.Patch(ctx, list, client.RawPatch("application/merge-patch+json", []byte(body)))).To(Succeed())
		}
		patch(`{"spec":{"images":["ttl/a:1"]}}`)
		Eventually(children).Should(HaveLen(1))
		Eventually(told(ctx, list)).Should(ContainElement("Successful delete ImagePullJob: Delete 1 ImagePullJob"))

		By("giving it a time to live")
		short := &appsv1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "short"}}
		short.Spec = *list.Spec.DeepCopy()
		short.Spec.CompletionPolicy = appsv1beta1.CompletionPolicy{Type: appsv1beta1.CompletionPolicyAlways, TTLSecondsAfterFinished: ptr.To[int32](2)}
		Expect(admin.Create(ctx, short)).To(Succeed())
		var done *metav1.Time
		Eventually(func() error {
			err := admin.Get(ctx, client.ObjectKeyFromObject(short), short)
			if short.Status.CompletionTime != nil {
				done = short.Status.CompletionTime
			}
			return err
		}).Should(MatchError(ContainSubstring("not found")))
		Expect(done).NotTo(BeNil(), "it goes after it has completed")
		Expect(time.Since(done.Time)).To(BeNumerically(">=", 2*time.Second))
	})

	It("is told of children that are done before their list: they stay, whatever their time", func(ctx context.Context) {
		startPulling(defaults)
		newNodes(ctx, "early", 1, map[string]string{"pool": "early", "silent": "yes"})
		ns := newPullNamespace(ctx)
		list := &appsv1beta1.ImageListPullJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "early"}}
		list.Spec.Images = []string{"early/a:1", "early/b:1"}
		list.Spec.Selector = &appsv1beta1.ImagePullJobNodeSelector{LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "early"}}}
		list.Spec.CompletionPolicy = appsv1beta1.CompletionPolicy{Type: appsv1beta1.CompletionPolicyAlways, TTLSecondsAfterFinished: ptr.To[int32](0)}
		Expect(admin.Create(ctx, list)).To(Succeed())
		var jobs appsv1beta1.ImagePullJobList
		uids := func(g Gomega) (out []types.UID) {
			g.Expect(admin.List(ctx, &jobs, client.InNamespace(ns))).To(Succeed())
			for i := range jobs.Items {
				g.Expect(jobs.Items[i].Status.Active).To(Equal(int32(1)))
				out = append(out, jobs.Items[i].UID)
			}
			return out
		}
		Eventually(uids).Should(HaveLen(2))
		made := uids(NewWithT(GinkgoT()))
		done := &jobs.Items[0]
		done.Status.Active, done.Status.Succeeded, done.Status.CompletionTime = 0, 1, ptr.To(metav1.Now())
		Expect(admin.Status().Update(ctx, done)).To(Succeed())
		Eventually(func() int32 {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(list), list)).To(Succeed())
			return list.Status.Completed
		}).Should(Equal(int32(1)))
		Consistently(func() []types.UID {
			Expect(admin.List(ctx, &jobs, client.InNamespace(ns))).To(Succeed())
			return []types.UID{jobs.Items[0].UID, jobs.Items[len(jobs.Items)-1].UID}
		}, "2s").Should(ConsistOf(made))
	})

	// The fake one has no node and no agent: it is never done, and is there for good.
	It("is counted on a NodeImage that nobody serves, too", func(ctx context.Context) {
		startPulling(defaults)
		startAgents(50 * time.Millisecond)
		newNodes(ctx, "real", 2, map[string]string{"pool": "real"})
		fake := &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{
			Name: "fake", Labels: map[string]string{"pool": "real", "apps.kruise.io/fake-nodeimage": "", "silent": "yes"},
		}}
		Expect(admin.Create(ctx, fake)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(admin.Delete(ctx, fake)).To(Succeed()) })
		job := pullJob(newPullNamespace(ctx), "all", "real:1", func(s *appsv1beta1.ImagePullJobSpec) {
			labelled("real")(s)
			s.CompletionPolicy.Type = appsv1beta1.CompletionPolicyNever
		})
		Expect(admin.Create(ctx, job)).To(Succeed())
		want := SatisfyAll(HaveField("Desired", int32(3)), HaveField("Succeeded", int32(2)), HaveField("Active", int32(1)), HaveField("CompletionTime", BeNil()))
		Eventually(jobNow(ctx, job)).Should(want)
		Consistently(jobNow(ctx, job), "2s").Should(want)
		Expect(nodeNow(ctx, "fake").Spec.Images).To(HaveKey("real"))
	})
})
