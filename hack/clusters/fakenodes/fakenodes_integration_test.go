// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package fakenodes_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestFakeNodes(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Fake nodes")
}

const timeout = 30 * time.Second

var (
	clusters set
	client   kubernetes.Interface
)

var _ = BeforeSuite(func() {
	clusters = set{name: fmt.Sprintf("fake-test-%d", os.Getpid()), program: filepath.Join(GinkgoT().TempDir(), "clusters")}
	build := exec.Command("go", "build", "-o", clusters.program, "./hack/clusters")
	build.Dir, build.Stderr = repository, GinkgoWriter
	Expect(build.Run()).To(Succeed())
	DeferCleanup(func() {
		clusters.run("down")
		Expect(clusters.processes()).To(BeEmpty())
		Expect(clusters.path()).NotTo(BeADirectory())
	})
	clusters.run("up", "--members", "1", "--fake-nodes", "3", "--zones", "x,y", "--components", "none")
	config, err := clientcmd.BuildConfigFromFlags("", clusters.path("member-1.kubeconfig"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.Burst = 100, 200
	client, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
})

// create makes a pod with one container of the image.
func create(ctx context.Context, name, image string, change func(*corev1.Pod)) {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
	if change != nil {
		change(pod)
	}
	_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// pod reads a pod, for Eventually.
func pod(ctx context.Context, name string) func(Gomega) *corev1.Pod {
	return func(g Gomega) *corev1.Pod {
		p, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return p
	}
}

func patch(ctx context.Context, name, body string, subresources ...string) {
	GinkgoHelper()
	_, err := client.CoreV1().Pods("default").Patch(ctx, name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, subresources...)
	Expect(err).NotTo(HaveOccurred())
}

func setImage(ctx context.Context, name, image string) {
	GinkgoHelper()
	patch(ctx, name, `{"spec":{"containers":[{"name":"main","image":"`+image+`"}]}}`)
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

func isReady(p *corev1.Pod) bool { return condition(p, corev1.PodReady) == corev1.ConditionTrue }

// becomes waits until the pod is ready with the image, and returns it.
func becomes(ctx context.Context, name, image string) *corev1.Pod {
	GinkgoHelper()
	var p *corev1.Pod
	Eventually(func(g Gomega) {
		p = pod(ctx, name)(g)
		g.Expect(p.Status.ContainerStatuses).To(HaveLen(1))
		g.Expect(p.Status.ContainerStatuses[0].Image).To(Equal(image))
		g.Expect(isReady(p)).To(BeTrue())
	}, timeout, "50ms").Should(Succeed())
	return p
}

var _ = Describe("a pod on a simulated node", func() {
	It("restarts one container in place when its image changes", func(ctx SpecContext) {
		create(ctx, "web", "web:v1", nil)
		before := becomes(ctx, "web", "web:v1")
		setImage(ctx, "web", "web:v2")
		after := becomes(ctx, "web", "web:v2")
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Status.PodIP).To(Equal(before.Status.PodIP))
		old, now := before.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]
		Expect(now.RestartCount).To(BeEquivalentTo(1))
		Expect(now.ContainerID).NotTo(Equal(old.ContainerID))
		Expect(now.ImageID).NotTo(Equal(old.ImageID))
		Expect(now.LastTerminationState.Terminated.ContainerID).To(Equal(old.ContainerID))
		Expect(condition(after, corev1.PodScheduled)).To(Equal(corev1.ConditionTrue))

		setImage(ctx, "web", "web:v2--again")
		again := becomes(ctx, "web", "web:v2--again").Status.ContainerStatuses[0]
		Expect(again.ImageID).To(Equal(now.ImageID))
		Expect(again.ContainerID).NotTo(Equal(now.ContainerID))
	})

	It("is ready only when its gates are open, and keeps conditions of others", func(ctx SpecContext) {
		create(ctx, "gated", "web:v1", func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/Gate"}}
		})
		Eventually(func(g Gomega) {
			g.Expect(condition(pod(ctx, "gated")(g), corev1.ContainersReady)).To(Equal(corev1.ConditionTrue))
		}, timeout, "50ms").Should(Succeed())
		Expect(isReady(pod(ctx, "gated")(Default))).To(BeFalse())
		patch(ctx, "gated", `{"status":{"conditions":[{"type":"example.com/Gate","status":"True"},{"type":"example.com/Other","status":"Unknown"}]}}`, "status")
		p := becomes(ctx, "gated", "web:v1")
		Expect(condition(p, "example.com/Other")).To(Equal(corev1.ConditionUnknown))
		patch(ctx, "gated", `{"status":{"conditions":[{"type":"example.com/Gate","status":"False"}]}}`, "status")
		Eventually(func(g Gomega) { g.Expect(isReady(pod(ctx, "gated")(g))).To(BeFalse()) }, timeout, "50ms").Should(Succeed())
	})

	It("starts late and fails to pull as it is asked to", func(ctx SpecContext) {
		create(ctx, "slow", "web:v1", func(p *corev1.Pod) {
			p.Annotations = map[string]string{"fake.flotilla.sh/start-delay": "1500ms", "fake.flotilla.sh/failing-images": "web:bad"}
		})
		began := time.Now()
		becomes(ctx, "slow", "web:v1")
		Expect(time.Since(began)).To(BeNumerically(">", time.Second))
		setImage(ctx, "slow", "web:bad")
		Eventually(func(g Gomega) {
			status := pod(ctx, "slow")(g).Status.ContainerStatuses[0]
			g.Expect(status.State.Waiting).NotTo(BeNil())
			g.Expect(status.State.Waiting.Reason).To(Equal("ImagePullBackOff"))
			g.Expect(status.Image).To(Equal("web:v1"), "the image that ran last")
			g.Expect(status.RestartCount).To(BeZero())
		}, timeout, "50ms").Should(Succeed())
		setImage(ctx, "slow", "web:v3")
		Expect(becomes(ctx, "slow", "web:v3").Status.ContainerStatuses[0].RestartCount).To(BeEquivalentTo(1))
	})

	It("completes when it is not to be restarted", func(ctx SpecContext) {
		for name, code := range map[string]string{"succeeds": "0", "fails": "2"} {
			create(ctx, name, "job:v1", func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Annotations = map[string]string{"fake.flotilla.sh/run-for": "100ms", "fake.flotilla.sh/exit-code": code}
			})
		}
		for name, phase := range map[string]corev1.PodPhase{"succeeds": corev1.PodSucceeded, "fails": corev1.PodFailed} {
			Eventually(func(g Gomega) { g.Expect(pod(ctx, name)(g).Status.Phase).To(Equal(phase)) }, timeout, "50ms").Should(Succeed())
		}
	})

	It("runs init containers and native sidecars", func(ctx SpecContext) {
		always := corev1.ContainerRestartPolicyAlways
		create(ctx, "inits", "web:v1", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v1"}, {Name: "side", Image: "side:v1", RestartPolicy: &always}}
		})
		becomes(ctx, "inits", "web:v1")
		patch(ctx, "inits", `{"spec":{"initContainers":[{"name":"side","image":"side:v2"}]}}`)
		Eventually(func(g Gomega) {
			status := pod(ctx, "inits")(g).Status
			g.Expect(status.InitContainerStatuses[0].State.Terminated).NotTo(BeNil())
			g.Expect(status.InitContainerStatuses[0].RestartCount).To(BeZero())
			g.Expect(status.InitContainerStatuses[1].State.Running).NotTo(BeNil())
			g.Expect(status.InitContainerStatuses[1].RestartCount).To(BeEquivalentTo(1))
			g.Expect(status.ContainerStatuses[0].RestartCount).To(BeZero())
		}, timeout, "50ms").Should(Succeed())
	})

	It("ends at once when deleted, but waits for finalizers", func(ctx SpecContext) {
		create(ctx, "held", "web:v1", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
		becomes(ctx, "held", "web:v1")
		Expect(client.CoreV1().Pods("default").Delete(ctx, "held", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(pod(ctx, "held")(g).Status.Phase).To(Equal(corev1.PodSucceeded))
		}, timeout, "50ms").Should(Succeed())
		_, err := client.CoreV1().Pods("default").Patch(ctx, "held", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() bool {
			_, err := client.CoreV1().Pods("default").Get(ctx, "held", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}, timeout, "50ms").Should(BeTrue())
	})
})

var _ = Describe("a set that is brought up again", Serial, func() {
	It("is left alone when all is well", func() {
		Expect(clusters.run("up")).To(ContainSubstring("nothing had to be done"))
	})

	It("gets its dead processes back", func(ctx SpecContext) {
		clusters.kill("member-1-kube-apiserver")
		Expect(clusters.run("up")).To(ContainSubstring("started member-1-kube-apiserver"))
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("gives no address twice after its kwok died", func(ctx SpecContext) {
		for i := range 5 {
			create(ctx, fmt.Sprintf("before-%d", i), "web:v1", nil)
			becomes(ctx, fmt.Sprintf("before-%d", i), "web:v1")
		}
		clusters.kill("member-1-kwok")
		setImage(ctx, "before-0", "web:v2")
		for i := range 5 {
			create(ctx, fmt.Sprintf("after-%d", i), "web:v1", nil)
		}
		clusters.run("up")
		Expect(becomes(ctx, "before-0", "web:v2").Status.ContainerStatuses[0].RestartCount).To(BeEquivalentTo(1))
		addresses := map[string]string{}
		for i := range 5 {
			for _, name := range []string{fmt.Sprintf("before-%d", i), fmt.Sprintf("after-%d", i)} {
				var p *corev1.Pod
				Eventually(func(g Gomega) {
					p = pod(ctx, name)(g)
					g.Expect(isReady(p)).To(BeTrue())
				}, timeout, "50ms").Should(Succeed())
				Expect(addresses).NotTo(HaveKey(p.Status.PodIP), "%s and %s", name, addresses[p.Status.PodIP])
				addresses[p.Status.PodIP] = name
			}
		}
	})

	It("gets another number of nodes", func(ctx SpecContext) {
		clusters.run("up", "--fake-nodes", "2", "--zones", "z")
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(2))
		for _, node := range list.Items {
			Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "z"))
			Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyRegion, "region-1"))
		}
	})
})
