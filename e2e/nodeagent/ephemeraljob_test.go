// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// job puts one ephemeral container into all pods of a set, two at a time.
func job(ctx context.Context, set *appsv1beta1.CloneSet, name, image string, args ...string) *appsv1alpha1.EphemeralJob {
	GinkgoHelper()
	out := &appsv1alpha1.EphemeralJob{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name}}
	out.Spec.Selector, out.Spec.Parallelism = set.Spec.Selector, ptr.To(int32(2))
	out.Spec.Template.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: name, Image: image, Args: args,
		ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}}}
	Expect(member.Create(ctx, out)).To(Succeed())
	return out
}

// ends waits until the job is in the phase and has ended.
func ends(ctx context.Context, job *appsv1alpha1.EphemeralJob, phase appsv1alpha1.EphemeralJobPhase) appsv1alpha1.EphemeralJobStatus {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
		g.Expect(job.Status.Phase).To(Equal(phase))
		g.Expect(job.Status.CompletionTime).NotTo(BeNil())
	}).WithTimeout(soon).Should(Succeed())
	return job.Status
}

var _ = Describe("EphemeralJob", Label("ephemeraljob", "nodeagent"), func() {
	It("runs containers in pods that run, tells how they ended, and outlives an update in place and a restart", func(ctx SpecContext) {
		set := shop(ctx, 3)
		before := records(ctx, set)
		Expect(ends(ctx, job(ctx, set, "well", "sleeper:v1", "--for=1s"), appsv1alpha1.EphemeralJobSucceeded).Succeeded).To(Equal(int32(3)))
		Expect(ends(ctx, job(ctx, set, "badly", "crasher:v1", "--after=100ms"), appsv1alpha1.EphemeralJobFailed).Failed).To(Equal(int32(3)))
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		for uid, now := range records(ctx, set) {
			sameBut(before[uid], now, "web")
		}
		before = records(ctx, set)
		pod := podsOf(ctx, set)[0]
		seen(ctx, request(ctx, &pod, appsv1beta1.ContainerRecreateRequestStrategy{}, "web"), done)
		sameBut(before[pod.UID], records(ctx, set)[pod.UID], "web")
		for _, pod := range podsOf(ctx, set) {
			Expect(pod.Status.EphemeralContainerStatuses).To(ConsistOf(HaveField("Name", "well"), HaveField("Name", "badly")))
			Expect(pod.Spec.EphemeralContainers).To(HaveLen(2))
		}
	})
})
