// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// barriers is a ConfigMap that the variables of launch priorities refer to.
const barriers = "barriers"

func barriersIn(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: barriers}, Data: map[string]string{"p_10": "", "p_1": ""}}
}

// priority gives a container of the template a launch priority.
func priority(container, key string) harness.Change {
	return func(set *appsv1beta1.CloneSet) {
		for i := range set.Spec.Template.Spec.Containers {
			if c := &set.Spec.Template.Spec.Containers[i]; c.Name == container {
				c.Env = append(c.Env, corev1.EnvVar{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{
					ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: barriers}, Key: key},
				}})
			}
		}
	}
}

// thePod is the one pod of a set of one.
func thePod(ctx context.Context, g Gomega, set *appsv1beta1.CloneSet) *corev1.Pod {
	list, err := member.Pods(ctx, set.Namespace, "web")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list).To(HaveLen(1))
	return &list[0]
}

var _ = Describe("A CloneSet on real nodes", Label("cloneset", "workloads"), func() {
	It("takes an update back within its grace period, and goes to and from an image without a tag", func(ctx SpecContext) {
		set := shop(ctx, 1, harness.Image("web", "nginx"), harness.Grace(4), func(set *appsv1beta1.CloneSet) {
			set.Spec.Template.Spec.Containers[0].ReadinessProbe = probe(80)
		})
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		before := records(ctx, set)

		edit(ctx, set, harness.Image("web", "nginx:1.27"))
		waits(ctx, set, "GracePeriod")
		Eventually(ctx, func(g Gomega) {
			pod := thePod(ctx, g, set)
			g.Expect(pods.IsReady(pod)).To(BeFalse(), "it leaves its Services first")
			g.Expect(version(ctx, pod)).To(Equal("latest"), "and serves on")
			g.Expect(pod.Annotations).To(HaveKey(appsv1beta1.InPlaceUpdateGraceKey))
		}).WithTimeout(soon).Should(Succeed())
		edit(ctx, set, harness.Image("web", "nginx"))
		// Its probe fails and passes again meanwhile: the kubelet and we write conditions at the same time.
		Expect(ask(ctx, http.MethodPut, thePod(ctx, Default, set), "/readyz", "false")).To(BeEmpty())
		Eventually(ctx, func(g Gomega) {
			g.Expect(status(thePod(ctx, g, set), "web").Ready).To(BeFalse())
		}).WithTimeout(soon).Should(Succeed())
		Expect(ask(ctx, http.MethodPut, thePod(ctx, Default, set), "/readyz", "true")).To(BeEmpty())
		settled(ctx, set)
		pod := thePod(ctx, Default, set)
		Expect(pod.Annotations).NotTo(HaveKey(appsv1beta1.InPlaceUpdateGraceKey))
		now, err := member.Current(ctx, set)
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Labels).To(HaveKeyWithValue(appsv1beta1.ControllerRevisionHashLabel, now.Status.UpdateRevision))
		sameBut(before[pod.UID], records(ctx, set)[pod.UID])

		for _, step := range []struct{ image, answer string }{{"nginx:1.27", "1.27"}, {"nginx", "latest"}} {
			before = records(ctx, set)
			edit(ctx, set, harness.Image("web", step.image))
			settled(ctx, set)
			Expect(versions(ctx, set)).To(Equal(map[string]int{step.answer: 1}))
			sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web")
		}
		Expect(watch.ReadyWriters()).To(ConsistOf("kubelet"))
	}, SpecTimeout(4*time.Minute))

	It("restarts containers in the order of their launch priorities, and none after one that does not get ready", func(ctx SpecContext) {
		const delay = 2 * time.Second
		set := shop(ctx, 1, startsIn(delay.String()), priority("web", "p_10"), priority("beside", "p_1"), func(set *appsv1beta1.CloneSet) {
			Expect(member.Create(ctx, barriersIn(set.Namespace))).To(Succeed())
		})
		before := records(ctx, set)
		edit(ctx, set, harness.Image("web", "web:v2"), harness.Image("beside", "sleeper:v2"))
		settled(ctx, set)
		inOrder(thePod(ctx, Default, set), delay)
		after := records(ctx, set)
		pod := thePod(ctx, Default, set)
		sameBut(before[pod.UID], after[pod.UID], "web", "beside")

		edit(ctx, set, harness.Image("web", "web:v404"), harness.Image("beside", "sleeper:v3"))
		Eventually(ctx, func(g Gomega) {
			waiting := status(thePod(ctx, g, set), "web").State.Waiting
			g.Expect(waiting).NotTo(BeNil())
			g.Expect(waiting.Reason).To(BeElementOf("ErrImagePull", "ImagePullBackOff"))
		}).WithTimeout(soon).Should(Succeed())
		held := thePod(ctx, Default, set)
		Expect(held.Spec.Containers[1].Image).To(Equal("sleeper:v2"))
		Expect(held.Annotations[appsv1beta1.InPlaceUpdateStateKey]).To(ContainSubstring(`"nextContainerImages":{"beside":"sleeper:v3"}`))
		Expect(status(held, "beside").ContainerID).To(Equal(after[pod.UID].running["beside"]))

		edit(ctx, set, harness.Image("web", "web:v3"))
		settled(ctx, set)
		mended := thePod(ctx, Default, set)
		Expect(mended.UID).To(Equal(pod.UID))
		Expect([]string{mended.Spec.Containers[0].Image, mended.Spec.Containers[1].Image}).To(Equal([]string{"web:v3", "sleeper:v3"}))
		inOrder(mended, delay)
	}, SpecTimeout(4*time.Minute))
})

// inOrder wants the second container of a pod to have started once the first, which takes that long, was ready.
func inOrder(pod *corev1.Pod, delay time.Duration) {
	GinkgoHelper()
	first, second := status(pod, "web").State.Running, status(pod, "beside").State.Running
	Expect(first).NotTo(BeNil())
	Expect(second).NotTo(BeNil())
	Expect(second.StartedAt.Sub(first.StartedAt.Time)).To(BeNumerically(">=", delay))
}
