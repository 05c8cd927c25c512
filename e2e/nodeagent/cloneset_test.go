// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

var _ = Describe("A CloneSet on real nodes", Label("cloneset", "workloads"), func() {
	It("changes one of two containers, and nothing else of its pods", func(ctx SpecContext) {
		set := shop(ctx, 2)
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		before := records(ctx, set)
		for _, step := range []struct{ container, image, answer string }{
			{"web", "web:v2", "v2"}, {"beside", "sleeper:v2", "v2"}, {"web", "web:v1", "v1"},
		} {
			edit(ctx, set, harness.Image(step.container, step.image))
			settled(ctx, set)
			after := records(ctx, set)
			Expect(after).To(HaveLen(2))
			for uid, now := range after {
				Expect(before).To(HaveKey(uid))
				sameBut(before[uid], now, step.container)
			}
			Expect(versions(ctx, set)).To(Equal(map[string]int{step.answer: 2}))
			before = after
		}
		Expect(watch.ReadyWriters()).To(ConsistOf("kubelet"), "the Ready condition is the kubelet's alone")
	}, SpecTimeout(3*time.Minute))

	It("serves both revisions of a canary at once, then the new one alone", func(ctx SpecContext) {
		set := shop(ctx, 4, harness.Partition("4"))
		before := records(ctx, set)
		edit(ctx, set, harness.Image("web", "web:v2"), harness.Partition("3"))
		settled(ctx, set)
		waits(ctx, set, "PartitionReached", "keeps 3 pods")
		Consistently(ctx, func() map[string]int { return versions(ctx, set) }).WithTimeout(2 * time.Second).
			Should(Equal(map[string]int{"v1": 3, "v2": 1}))

		edit(ctx, set, harness.Partition("0"))
		settled(ctx, set)
		Expect(versions(ctx, set)).To(Equal(map[string]int{"v2": 4}))
		after := records(ctx, set)
		Expect(after).To(HaveLen(4))
		for uid, now := range after {
			Expect(before).To(HaveKey(uid))
			sameBut(before[uid], now, "web")
		}
	}, SpecTimeout(3*time.Minute))

	It("goes back in place, in the pods that were updated and in no other", func(ctx SpecContext) {
		set := shop(ctx, 4, harness.Partition("2"))
		first := records(ctx, set)
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		updated := records(ctx, set)
		edit(ctx, set, harness.Image("web", "web:v1"), harness.Partition("0"))
		settled(ctx, set)
		Expect(versions(ctx, set)).To(Equal(map[string]int{"v1": 4}))
		last, touched := records(ctx, set), 0
		Expect(last).To(HaveLen(4))
		for uid, now := range last {
			Expect(first).To(HaveKey(uid))
			if updated[uid].running["web"] == first[uid].running["web"] {
				sameBut(first[uid], now)
				continue
			}
			touched++
			sameBut(first[uid], updated[uid], "web")
			sameBut(updated[uid], now, "web")
		}
		Expect(touched).To(Equal(2))
		got, err := member.Current(ctx, set)
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Status.CurrentRevision).To(Equal(got.Status.UpdateRevision))
	}, SpecTimeout(3*time.Minute))

	It("goes back to an image that its nodes no longer have", func(ctx SpecContext) {
		set := shop(ctx, 2, harness.Image("web", "web:v3"), func(set *appsv1beta1.CloneSet) {
			set.Spec.Template.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
		})
		edit(ctx, set, harness.Image("web", "web:v4"))
		settled(ctx, set)
		before := records(ctx, set)
		for _, pod := range podsOf(ctx, set) {
			if there, err := fleet.HasImage(ctx, pod.Spec.NodeName, "web:v3"); Expect(err).NotTo(HaveOccurred()) && there {
				Expect(fleet.RemoveImage(ctx, pod.Spec.NodeName, "web:v3")).To(Succeed())
			}
			Expect(fleet.HasImage(ctx, pod.Spec.NodeName, "web:v3")).To(BeFalse())
		}
		edit(ctx, set, harness.Image("web", "web:v3"))
		settled(ctx, set)
		Expect(versions(ctx, set)).To(Equal(map[string]int{"v3": 2}))
		for uid, now := range records(ctx, set) {
			sameBut(before[uid], now, "web")
		}
	}, SpecTimeout(3*time.Minute))

	It("restarts for another tag of the same digest, and is done", func(ctx SpecContext) {
		set := shop(ctx, 1)
		for _, tag := range []string{"web:v1-same", "web:v1"} {
			before, then := records(ctx, set), podsOf(ctx, set)[0]
			edit(ctx, set, harness.Image("web", tag))
			settled(ctx, set)
			pod := podsOf(ctx, set)[0]
			Expect(harness.Ready(&pod, tag)).To(BeTrue())
			Expect(status(&pod, "web").ImageID).To(Equal(status(&then, "web").ImageID), "one digest")
			sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web")
		}
	}, SpecTimeout(3*time.Minute))

	It("does so without node agents too, which its runtime names by the other tag", func(ctx SpecContext) {
		agents(syscall.SIGSTOP)
		DeferCleanup(func() { agents(syscall.SIGCONT) })
		set := shop(ctx, 1)
		for i, tag := range []string{"web:v1-same", "web:v2", "web:v1-same"} {
			edit(ctx, set, harness.Image("web", tag))
			settled(ctx, set)
			pod := podsOf(ctx, set)[0]
			Expect(harness.Ready(&pod, tag)).To(BeTrue())
			Expect(pod.Annotations).NotTo(HaveKey(appsv1beta1.RuntimeContainerMetaKey))
			Expect(status(&pod, "web").RestartCount).To(BeEquivalentTo(i + 1))
		}
	}, SpecTimeout(3*time.Minute))
})

// agents sends a signal to the node agents of the first member.
func agents(signal syscall.Signal) {
	GinkgoHelper()
	for _, node := range []string{"member-1-node-1", "member-1-node-2"} {
		Expect(fleet.Signal(node+"-flotilla-nodeagent", signal)).To(Succeed())
	}
}
