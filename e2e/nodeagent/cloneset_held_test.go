// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const drain = "example.com/drain"

// startsIn makes web servers take that long to get ready.
func startsIn(delay string) harness.Change {
	return func(set *appsv1beta1.CloneSet) {
		set.Spec.Template.Spec.Containers[0].Env = append(set.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "READY_DELAY", Value: delay})
	}
}

var _ = Describe("A CloneSet on real nodes", Label("cloneset", "workloads"), func() {
	DescribeTable("deletes a pod only when its preDelete hook is let go", func(ctx SpecContext, hook appsv1beta1.LifecycleHook, letGo func(*corev1.Pod)) {
		set := shop(ctx, 2, func(set *appsv1beta1.CloneSet) {
			set.Spec.Lifecycle = &appsv1beta1.Lifecycle{PreDelete: &hook}
			set.Spec.Template.Finalizers = hook.FinalizersHandler
			for key, value := range hook.LabelsHandler {
				set.Spec.Template.Labels[key] = value
			}
		})
		before := records(ctx, set)
		edit(ctx, set, harness.Replicas(1))
		waits(ctx, set, "LifecycleHook", drain)
		Expect(states(ctx, set)()).To(Equal(map[appsv1beta1.LifecycleStateType]int{
			appsv1beta1.LifecycleStatePreparingDelete: 1, appsv1beta1.LifecycleStateNormal: 1,
		}))
		var leaving corev1.Pod
		for _, pod := range podsOf(ctx, set) {
			if pods.LifecycleState(&pod) == appsv1beta1.LifecycleStatePreparingDelete {
				leaving = pod
			}
		}
		Consistently(ctx, func(g Gomega) {
			g.Expect(member.Get(ctx, client.ObjectKeyFromObject(&leaving), &leaving)).To(Succeed())
			g.Expect(leaving.DeletionTimestamp).To(BeNil())
			g.Expect(version(ctx, &leaving)).To(Equal("v1"), "it serves until it is let go")
		}).WithTimeout(3 * time.Second).Should(Succeed())
		Expect(pods.IsReady(&leaving)).To(Equal(!hook.MarkPodNotReady))
		sameBut(before[leaving.UID], records(ctx, set)[leaving.UID])

		patch := client.MergeFrom(leaving.DeepCopy())
		letGo(&leaving)
		Expect(member.Patch(ctx, &leaving, patch)).To(Succeed())
		settled(ctx, set)
		for uid, now := range records(ctx, set) {
			Expect(uid).NotTo(Equal(leaving.UID))
			sameBut(before[uid], now)
		}
		Eventually(ctx, func() error {
			return member.Get(ctx, client.ObjectKeyFromObject(&leaving), &leaving)
		}).Should(MatchError(ContainSubstring("not found")))
	},
		Entry("a label, ready all the while", appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{drain: "held"}},
			func(pod *corev1.Pod) { delete(pod.Labels, drain) }, SpecTimeout(3*time.Minute)),
		Entry("a finalizer, marked not ready", appsv1beta1.LifecycleHook{FinalizersHandler: []string{drain}, MarkPodNotReady: true},
			func(pod *corev1.Pod) { controllerutil.RemoveFinalizer(pod, drain) }, SpecTimeout(3*time.Minute)),
	)

	DescribeTable("keeps an image that does not work to maxUnavailable pods, and is mended by a good one", func(ctx SpecContext, bad string, reasons ...string) {
		set := shop(ctx, 4, harness.MaxUnavailable("1"))
		before := harness.ByUID(podsOf(ctx, set))
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, set, harness.Image("web", bad))
		var down corev1.Pod
		Eventually(ctx, func(g Gomega) {
			list, err := member.Pods(ctx, set.Namespace, "web")
			g.Expect(err).NotTo(HaveOccurred())
			down = corev1.Pod{}
			for i := range list {
				if waiting := status(&list[i], "web").State.Waiting; waiting != nil && slices.Contains(reasons, waiting.Reason) {
					down = list[i]
				}
			}
			g.Expect(down.Name).NotTo(BeEmpty())
		}).WithTimeout(soon).Should(Succeed())
		waits(ctx, set, "MaxUnavailableReached", down.Name)
		Consistently(ctx, func(g Gomega) {
			for _, pod := range podsOf(ctx, set) {
				if pod.UID == down.UID {
					continue
				}
				g.Expect(harness.Ready(&pod, "web:v1")).To(BeTrue(), pod.Name)
				g.Expect(version(ctx, &pod)).To(Equal("v1"))
			}
		}).WithTimeout(3 * time.Second).Should(Succeed())

		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		Expect(versions(ctx, set)).To(Equal(map[string]int{"v2": 4}))
		for uid := range harness.ByUID(podsOf(ctx, set)) {
			Expect(before).To(HaveKey(uid), "mended in place")
		}
		Expect(watch.FewestReady()).To(Equal(3), "ready pods at the worst moment")
		Expect(watch.ReadyWriters()).To(ConsistOf("kubelet"))
	},
		Entry("it crashes again and again", "crasher:v1", "CrashLoopBackOff", SpecTimeout(3*time.Minute)),
		Entry("it is not there", "web:v404", "ErrImagePull", "ImagePullBackOff", SpecTimeout(3*time.Minute)),
	)

	It("is scaled up and down in the middle of an update, as an autoscaler does", func(ctx SpecContext) {
		set := shop(ctx, 4, harness.MaxUnavailable("1"), startsIn("1s"))
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, set, harness.Image("web", "web:v2"))
		midway(ctx, set, 1)
		scale(ctx, set, 6)
		midway(ctx, set, 3)
		Expect(watch.FewestReady()).To(BeNumerically(">=", 3), "of 4 or more")
		scale(ctx, set, 3)
		settled(ctx, set)
		Expect(versions(ctx, set)).To(Equal(map[string]int{"v2": 3}))
		Expect(watch.FewestReady()).To(BeNumerically(">=", 2), "of 3 or more")
		Expect(watch.Most()).To(BeNumerically("<=", 6))
		Expect(watch.Born()).To(BeNumerically("<=", 6), "nothing is recreated")
		Eventually(ctx, func(g Gomega) {
			got := &autoscalingv1.Scale{}
			g.Expect(member.SubResource("scale").Get(ctx, set, got)).To(Succeed())
			g.Expect(got.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 3, Selector: "app=web"}))
		}).Should(Succeed())
	}, SpecTimeout(3*time.Minute))
})

// scale writes the scale subresource.
func scale(ctx context.Context, set *appsv1beta1.CloneSet, replicas int32) {
	GinkgoHelper()
	want := &autoscalingv1.Scale{}
	Expect(member.SubResource("scale").Get(ctx, set, want)).To(Succeed())
	Expect(want.Status.Selector).To(Equal("app=web"))
	want.Spec.Replicas = replicas
	Expect(member.SubResource("scale").Update(ctx, set, client.WithSubResourceBody(want))).To(Succeed())
}

// midway waits until so many pods are updated and available, which must not be all of them.
func midway(ctx context.Context, set *appsv1beta1.CloneSet, updated int32) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		got, err := member.Current(ctx, set)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got.Status.UpdatedAvailableReplicas).To(BeNumerically(">=", updated))
		if got.Status.UpdatedReplicas >= *got.Spec.Replicas {
			StopTrying("the update is over already").Now()
		}
	}).WithTimeout(soon).Should(Succeed())
}
