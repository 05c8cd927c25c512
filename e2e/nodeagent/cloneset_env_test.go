// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// labelled sets a label of the template.
func labelled(key, value string) harness.Change {
	return func(set *appsv1beta1.CloneSet) { set.Spec.Template.Labels[key] = value }
}

// annotated sets an annotation of the template.
func annotated(key, value string) harness.Change {
	return func(set *appsv1beta1.CloneSet) {
		if set.Spec.Template.Annotations == nil {
			set.Spec.Template.Annotations = map[string]string{}
		}
		set.Spec.Template.Annotations[key] = value
	}
}

// refers gives a container of the template a variable that comes from metadata.
func refers(container, name, path string) harness.Change {
	return inContainer(container, func(c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}})
	})
}

func inContainer(container string, change func(*corev1.Container)) harness.Change {
	return func(set *appsv1beta1.CloneSet) {
		for i := range set.Spec.Template.Spec.Containers {
			if set.Spec.Template.Spec.Containers[i].Name == container {
				change(&set.Spec.Template.Spec.Containers[i])
			}
		}
	}
}

// versioned is a web server whose version is label version.
func versioned(version string) harness.Change {
	return func(set *appsv1beta1.CloneSet) {
		labelled("version", version)(set)
		refers("web", "VERSION", "metadata.labels['version']")(set)
	}
}

// once updates a set and wants its pods to be those they were, in each of which just these containers started anew, once.
func once(ctx context.Context, set *appsv1beta1.CloneSet, change harness.Change, restarted ...string) {
	GinkgoHelper()
	before := records(ctx, set)
	edit(ctx, set, change)
	settled(ctx, set)
	stayed(ctx, set, before, restarted...)
}

func stayed(ctx context.Context, set *appsv1beta1.CloneSet, before map[types.UID]record, restarted ...string) {
	GinkgoHelper()
	after := records(ctx, set)
	Expect(after).To(HaveLen(len(before)))
	for uid, now := range after {
		Expect(before).To(HaveKey(uid))
		sameBut(before[uid], now, restarted...)
	}
}

var _ = Describe("Env from metadata on real nodes", Label("cloneset", "nodeagent"), func() {
	It("restarts the container that refers to a changed label, once, and no other", func(ctx SpecContext) {
		set := shop(ctx, 2, versioned("blue"))
		Expect(versions(ctx, set)).To(Equal(map[string]int{"blue": 2}))
		watch, err := member.WatchPods(ctx, set.Namespace, "web")
		Expect(err).NotTo(HaveOccurred())
		once(ctx, set, labelled("version", "green"), "web")
		Expect(versions(ctx, set)).To(Equal(map[string]int{"green": 2}))
		Expect(watch.ReadyWriters()).To(ConsistOf("kubelet"))

		By("restarting nothing for a label that nobody refers to, or one edited by hand")
		once(ctx, set, labelled("other", "x"))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		patch := client.MergeFrom(pod.DeepCopy())
		pod.Labels["version"] = "red"
		Expect(member.Patch(ctx, &pod, patch)).To(Succeed())
		Consistently(ctx, func() map[string]int { return versions(ctx, set) }).WithTimeout(8 * time.Second).
			Should(Equal(map[string]int{"green": 2}))
		stayed(ctx, set, before)
	}, SpecTimeout(4*time.Minute))

	It("does so for an annotation of the second container, and not when it is edited by hand", func(ctx SpecContext) {
		set := shop(ctx, 1, annotated("example.com/mode", "one"), refers("beside", "MODE", "metadata.annotations['example.com/mode']"))
		once(ctx, set, annotated("example.com/mode", "two"), "beside")
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		Expect(envOf(ctx, &pod, "beside")).To(ContainElement("MODE=two"))
		patch := client.MergeFrom(pod.DeepCopy())
		pod.Annotations["example.com/mode"] = "three"
		Expect(member.Patch(ctx, &pod, patch)).To(Succeed())
		Consistently(ctx, func() []string { return envOf(ctx, &pod, "beside") }).WithTimeout(8 * time.Second).Should(ContainElement("MODE=two"))
		stayed(ctx, set, before)

		By("restarting nothing for it in an update of an image either")
		once(ctx, set, harness.Image("web", "web:v2"), "web")
	}, SpecTimeout(4*time.Minute))

	It("restarts once when image and label change together (KD-04)", func(ctx SpecContext) {
		set := shop(ctx, 2, versioned("blue"))
		once(ctx, set, func(set *appsv1beta1.CloneSet) {
			labelled("version", "green")(set)
			harness.Image("web", "web:v2")(set)
		}, "web")
		Expect(versions(ctx, set)).To(Equal(map[string]int{"green": 2}))
		Consistently(ctx, func(g Gomega) {
			for _, pod := range podsOf(ctx, set) {
				g.Expect(status(&pod, "web").RestartCount).To(BeEquivalentTo(1))
			}
		}).WithTimeout(8 * time.Second).Should(Succeed())
	}, SpecTimeout(3*time.Minute))

	It("goes by launch priorities, the next container when the one before is ready", func(ctx SpecContext) {
		const delay = 2 * time.Second
		set := shop(ctx, 1, versioned("blue"), annotated("example.com/mode", "one"), refers("beside", "MODE", "metadata.annotations['example.com/mode']"),
			startsIn(delay.String()), priority("web", "p_10"), priority("beside", "p_1"), func(set *appsv1beta1.CloneSet) {
				Expect(member.Create(ctx, barriersIn(set.Namespace))).To(Succeed())
			})
		once(ctx, set, func(set *appsv1beta1.CloneSet) {
			labelled("version", "green")(set)
			annotated("example.com/mode", "two")(set)
		}, "web", "beside")
		inOrder(thePod(ctx, Default, set), delay)
	}, SpecTimeout(4*time.Minute))

	It("restarts once though the agent is killed in the middle of it", func(ctx SpecContext) {
		set := shop(ctx, 1, versioned("blue"), func(set *appsv1beta1.CloneSet) {
			set.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(20))
		}, inContainer("web", func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "4"}}}}
		}))
		before := records(ctx, set)
		pod := podsOf(ctx, set)[0]
		agent := pod.Spec.NodeName + "-flotilla-nodeagent"
		edit(ctx, set, labelled("version", "green"))
		Eventually(ctx, func() []string { return eventsOf(ctx, &pod, "Killing") }).WithTimeout(soon).
			Should(ContainElement(ContainSubstring("by container meta restarter")))
		Expect(fleet.Signal(agent, syscall.SIGKILL)).To(Succeed())
		waits(ctx, set, "InPlaceUpdateRunning", "container web has not restarted with the new metadata in its env yet")
		stayed(ctx, set, before)
		Expect(fleet.Repair(ctx)).To(Succeed())
		settled(ctx, set)
		stayed(ctx, set, before, "web")
		Expect(versions(ctx, set)).To(Equal(map[string]int{"green": 1}))
	}, SpecTimeout(10*time.Minute)) // bringing the agent back may build it

	It("tells of an image whose env it cannot read, and restarts nothing", func(ctx SpecContext) {
		set := shop(ctx, 1, annotated("example.com/mode", "one"), harness.Image("beside", "pause:v1"),
			refers("beside", "MODE", "metadata.annotations['example.com/mode']"))
		before := records(ctx, set)
		edit(ctx, set, annotated("example.com/mode", "two"))
		waits(ctx, set, "InPlaceUpdateRunning", "the node agent has not read the env of container beside yet")
		pod := podsOf(ctx, set)[0]
		Eventually(ctx, func() []string { return eventsOf(ctx, &pod, "ContainerEnvUnreadable") }).WithTimeout(soon).
			Should(ContainElement(ContainSubstring("command env")))
		stayed(ctx, set, before)

		By("ending the update with an image that has it")
		edit(ctx, set, harness.Image("beside", "sleeper:v1"))
		settled(ctx, set)
		stayed(ctx, set, before, "beside")
	}, SpecTimeout(4*time.Minute))
})

// envOf is what the command env prints in a container.
func envOf(ctx context.Context, pod *corev1.Pod, container string) []string {
	GinkgoHelper()
	out, err := member.Kubectl(ctx, "", "-n", pod.Namespace, "exec", pod.Name, "-c", container, "--", "env")
	Expect(err).NotTo(HaveOccurred(), out)
	return strings.Split(strings.TrimSpace(out), "\n")
}

// eventsOf are the texts of the events of one reason about a pod.
func eventsOf(ctx context.Context, pod *corev1.Pod, reason string) []string {
	GinkgoHelper()
	var list corev1.EventList
	Expect(member.List(ctx, &list, client.InNamespace(pod.Namespace))).To(Succeed())
	var out []string
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.UID == pod.UID && e.Reason == reason {
			out = append(out, e.Message)
		}
	}
	return out
}
