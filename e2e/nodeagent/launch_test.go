// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// readyAfter is how long the first container takes to be ready, and the second must wait at least. Times in a status
// have whole seconds.
const readyAfter = 4 * time.Second

func slowToGetReady(template *corev1.PodTemplateSpec) {
	web := &template.Spec.Containers[0]
	web.Env = append(web.Env, corev1.EnvVar{Name: "READY_DELAY", Value: readyAfter.String()})
}

// started are the times at which the containers of a pod started, in the order of its spec.
func started(pod *corev1.Pod) []time.Time {
	GinkgoHelper()
	var out []time.Time
	for _, c := range pod.Spec.Containers {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == c.Name {
				Expect(status.State.Running).NotTo(BeNil(), c.Name)
				Expect(status.RestartCount).To(BeZero(), c.Name)
				out = append(out, status.State.Running.StartedAt.Time)
			}
		}
	}
	return out
}

// launchedInOrder wants the second container of each pod to have waited for the first, and no restart.
func launchedInOrder(ctx context.Context, ns string) {
	GinkgoHelper()
	pods, err := member.Pods(ctx, ns, "web")
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).NotTo(BeEmpty())
	for i := range pods {
		at := started(&pods[i])
		GinkgoWriter.Printf("%s: the second container started %s after the first\n", pods[i].Name, at[1].Sub(at[0]))
		Expect(at[1].Sub(at[0])).To(BeNumerically(">=", readyAfter-time.Second), pods[i].Name)
		Expect(pods[i].Annotations).To(HaveKeyWithValue(appsv1beta1.ContainerLaunchPriorityCompletedKey, "true"))
	}
}

var _ = Describe("Container launch priority", Label("launchpriority", "webhooks", "nodeagent"), func() {
	It("starts the containers of a CloneSet's pods in order, and lets them restart in place", func(ctx SpecContext) {
		set := shop(ctx, 2, func(set *appsv1beta1.CloneSet) {
			set.Spec.Template.Annotations = map[string]string{appsv1beta1.ContainerLaunchPriorityKey: appsv1beta1.ContainerLaunchOrdered}
			slowToGetReady(&set.Spec.Template)
		})
		launchedInOrder(ctx, set.Namespace)
		for _, pod := range podsOf(ctx, set) { // LP-03: the error that the kubelet shows is explained where it shows
			Expect(eventsOf(ctx, &pod, "ContainersWaitInOrder")).To(ConsistOf(SatisfyAll(ContainSubstring("beside (priority -1)"), ContainSubstring("CreateContainerConfigError"))))
		}
		before := records(ctx, set)
		edit(ctx, set, harness.Image("beside", "sleeper:v2"))
		settled(ctx, set)
		for uid, now := range records(ctx, set) {
			sameBut(before[uid], now, "beside")
		}
	}, SpecTimeout(5*time.Minute))

	It("starts those of larger priority first in pods that a Deployment makes", func(ctx SpecContext) {
		template := corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "web", Image: "web:v1", ReadinessProbe: probe(8080)}, {Name: "beside", Image: "sleeper:v1"},
			}},
		}
		slowToGetReady(&template)
		for i, priority := range []string{"7", "-1"} {
			c := &template.Spec.Containers[i]
			c.Env = append(c.Env, corev1.EnvVar{Name: appsv1beta1.ContainerLaunchPriorityEnvName, Value: priority})
		}
		deployment := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: memberNamespace(ctx), Name: "web"},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		}
		Expect(member.Create(ctx, deployment)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(member.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			g.Expect(deployment.Status.AvailableReplicas).To(Equal(int32(2)))
		}).WithTimeout(soon).Should(Succeed())
		launchedInOrder(ctx, deployment.Namespace)
		pods, err := member.Pods(ctx, deployment.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		for i := range pods {
			var barrier corev1.ConfigMap
			Expect(member.Get(ctx, client.ObjectKey{Namespace: deployment.Namespace, Name: pods[i].Name + "-barrier"}, &barrier)).To(Succeed())
			Expect(barrier.Data).To(Equal(map[string]string{"p_7": "true", "p_-1": "true"}))
		}
	}, SpecTimeout(3*time.Minute))
})
