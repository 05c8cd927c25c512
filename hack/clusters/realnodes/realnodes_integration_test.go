// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package realnodes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestRealNodes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("real nodes need root")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Real nodes")
}

var _ = Describe("a member with two real nodes", Ordered, func() {
	const timeout = time.Minute
	var (
		clusters set
		config   *rest.Config
		client   kubernetes.Interface
		slot     string // name of the set's bridge
	)

	BeforeAll(func() {
		clusters = set{name: fmt.Sprintf("realnodes-test-%d", os.Getpid()), program: filepath.Join(GinkgoT().TempDir(), "clusters")}
		build := exec.Command("go", "build", "-o", clusters.program, "./hack/clusters")
		build.Dir, build.Stderr = repository, GinkgoWriter
		Expect(build.Run()).To(Succeed())
		DeferCleanup(func() { clusters.run("down") })
		clusters.run("up", "--members", "1", "--real-nodes", "2", "--zones", "a,b", "--components", "none")
		var err error
		config, err = clientcmd.BuildConfigFromFlags("", clusters.path("member-1.kubeconfig"))
		Expect(err).NotTo(HaveOccurred())
		client, err = kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		folder, err := os.Readlink(clusters.path("nodes"))
		Expect(err).NotTo(HaveOccurred())
		slot = filepath.Base(folder)
	})

	It("has both nodes Ready in their zones", func(ctx SpecContext) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		zones := map[string]string{}
		for _, n := range nodes.Items {
			zones[n.Name] = n.Labels[corev1.LabelTopologyRegion] + "/" + n.Labels[corev1.LabelTopologyZone]
		}
		Expect(zones).To(Equal(map[string]string{"member-1-node-1": "region-1/a", "member-1-node-2": "region-1/b"}))
	})

	It("updates one container of a pod in place", func(ctx SpecContext) {
		pod := ready(ctx, client, webPod("web", "member-1-node-1"), timeout)
		Expect(get(pod, "/version")).To(Equal("v1\n"))
		before := clusters.containers(pod)
		Expect(before).To(And(HaveLen(2), HaveKey("web/0/CONTAINER_RUNNING"), HaveKey("side/0/CONTAINER_RUNNING")))

		patch := []byte(`{"spec":{"containers":[{"name":"web","image":"registry.example.com/shop/web:v2"}]}}`)
		_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() string { return get(pod, "/version") }, timeout, "100ms").Should(Equal("v2\n"))

		updated := ready(ctx, client, pod, timeout)
		Expect([]any{updated.UID, updated.Status.PodIP, updated.Spec.NodeName}).To(Equal([]any{pod.UID, pod.Status.PodIP, pod.Spec.NodeName}))
		after := clusters.containers(updated)
		Expect(after).To(HaveLen(3))
		Expect(after).To(HaveKeyWithValue("web/0/CONTAINER_EXITED", before["web/0/CONTAINER_RUNNING"]))
		Expect(after).To(HaveKeyWithValue("side/0/CONTAINER_RUNNING", before["side/0/CONTAINER_RUNNING"]))
		Expect(after).To(HaveKey("web/1/CONTAINER_RUNNING"))
	})

	It("gives logs and runs commands", func(ctx SpecContext) {
		logs, err := client.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "web"}).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(logs)).To(ContainSubstring("web v2 listens on"))
		Expect(execute(ctx, config, client, "web", "cat", "/version")).To(Equal("v1\n"))
	})

	It("lets pods reach each other and the API server, and nothing outside", func(ctx SpecContext) {
		other := ready(ctx, client, webPod("other", "member-1-node-2"), timeout)
		service, err := client.CoreV1().Services("default").Get(ctx, "kubernetes", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, inside := range []string{other.Status.PodIP + ":8080", service.Spec.ClusterIP + ":443"} {
			_, err := execute(ctx, config, client, "web", "dial", inside)
			Expect(err).NotTo(HaveOccurred(), inside)
		}
		for _, outside := range []string{"192.0.2.1:80", "1.1.1.1:443"} {
			_, err := execute(ctx, config, client, "web", "dial", outside)
			Expect(err).To(HaveOccurred(), outside)
		}
	})

	It("does not pull what the registry does not have", func(ctx SpecContext) {
		pod := webPod("missing", "member-1-node-1")
		pod.Spec.Containers[0].Image = "web:none"
		_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			pod, err := client.CoreV1().Pods("default").Get(ctx, "missing", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Status.ContainerStatuses).To(ContainElement(HaveField("State.Waiting.Reason", HavePrefix("ErrImagePull"))))
		}, timeout, "100ms").Should(Succeed())
	})

	It("repairs a node whose processes were killed, without touching its pods", func(ctx SpecContext) {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		before := clusters.containers(pod)
		clusters.kill("member-1-node-1-kubelet", "member-1-node-1-containerd")
		clusters.run("up")
		Expect(clusters.containers(pod)).To(Equal(before))
	})

	It("leaves nothing behind, not even after everything was killed", func() {
		Expect(leftovers(slot)).NotTo(BeEmpty(), "the look for leftovers is blind")
		clusters.kill("")
		clusters.run("down")
		Expect(leftovers(slot)).To(BeEmpty())
	})
})
