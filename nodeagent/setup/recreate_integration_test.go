// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

var _ = Describe("ContainerRecreateRequest", Label("integration"), func() {
	var (
		runtime     *crifake.Runtime
		dir, socket string
		ns          string
	)
	serve := func() {
		Expect(runtime.Serve(socket)).To(Succeed())
		DeferCleanup(runtime.Stop)
	}
	start := func(pod *corev1.Pod, name string, restarts int32) string {
		return runtime.Run(crifake.Container{PodNamespace: pod.Namespace, PodName: pod.Name, PodUID: string(pod.UID), Name: name, Attempt: uint32(restarts)})
	}
	// podOn makes a pod on a node whose container main runs.
	podOn := func(ctx context.Context, node, name string) *corev1.Pod {
		pod := newPod(ctx, ns, name, node, container("main"), container("side"))
		setStatuses(ctx, pod, running("main", start(pod, "main", 0), 0, time.Now()), running("side", start(pod, "side", 0), 0, time.Now()))
		return pod
	}
	// ask makes a request for a pod of this node, as admission leaves it.
	ask := func(ctx context.Context, pod *corev1.Pod, name string, containers []string, changes ...func(*v1beta1.ContainerRecreateRequest)) *v1beta1.ContainerRecreateRequest {
		r := &v1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
		r.Spec.PodName = pod.Name
		for _, c := range containers {
			r.Spec.Containers = append(r.Spec.Containers, v1beta1.ContainerRecreateRequestContainer{Name: c})
		}
		v1beta1.CompleteContainerRecreateRequest(r, pod, nil)
		for _, f := range changes {
			f(r)
		}
		Expect(cluster.Create(ctx, r)).To(Succeed())
		return r
	}
	current := func(ctx context.Context, r *v1beta1.ContainerRecreateRequest) func() *v1beta1.ContainerRecreateRequest {
		return func() *v1beta1.ContainerRecreateRequest {
			got := &v1beta1.ContainerRecreateRequest{}
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(r), got)).To(Succeed())
			return got
		}
	}
	// again plays kubelet and spoke: a container has a new instance, which is ready.
	again := func(ctx context.Context, pod *corev1.Pod, r *v1beta1.ContainerRecreateRequest, name string) {
		id := start(pod, name, 1)
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(r), r)).To(Succeed())
		base := client.MergeFrom(r.DeepCopy())
		r.Status.ContainerStatusSnapshot = append(r.Status.ContainerStatusSnapshot,
			v1beta1.ContainerRecreateRequestContainerStatus{Name: name, ContainerID: "containerd://" + id, RestartCount: 1, Ready: true})
		Expect(cluster.Status().Patch(ctx, r, base)).To(Succeed())
	}
	const completed, recreating = v1beta1.ContainerRecreateRequestCompleted, v1beta1.ContainerRecreateRequestRecreating

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		socket = filepath.Join(dir, "containerd.sock")
		runtime = crifake.New("containerd")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crr-"}}
		Expect(cluster.Create(ctx, namespace)).To(Succeed())
		ns = namespace.Name
		DeferCleanup(func(ctx context.Context) { // no namespace controller here
			Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0))).To(Succeed())
			Expect(cluster.DeleteAllOf(ctx, &v1beta1.ContainerRecreateRequest{}, client.InNamespace(ns))).To(Succeed())
		})
	})

	It("is carried out in order, waits for its runtime, and is followed by the next (CR-01)", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		pod := podOn(ctx, nodeName, "crr-0")
		r := ask(ctx, pod, "first", []string{"main", "side"}, func(r *v1beta1.ContainerRecreateRequest) {
			r.Spec.Strategy.OrderedRecreate, r.Spec.Strategy.TerminationGracePeriodSeconds = true, ptr.To(int64(7))
		})
		Eventually(runtime.Stops).Should(Equal([]crifake.Stop{{ID: "main-1", Grace: 7 * time.Second}}))
		second := ask(ctx, pod, "second", []string{"side"}, func(r *v1beta1.ContainerRecreateRequest) { r.Spec.Strategy.ForceRecreate = true })
		Eventually(current(ctx, second)).Should(HaveField("Status.Phase", v1beta1.ContainerRecreateRequestPending))

		By("losing the runtime")
		runtime.Stop()
		Eventually(func() string { _, words := a.get("/readyz"); return words }).Should(ContainSubstring("runtime: "))
		again(ctx, pod, r, "main")
		Consistently(current(ctx, r), "3s", "200ms").Should(HaveField("Status.Phase", recreating))
		serve()
		Eventually(runtime.Stops).Should(HaveLen(2))
		Expect(runtime.Stops()[1].ID).To(Equal("side-2"))
		again(ctx, pod, r, "side")
		Eventually(current(ctx, r)).Should(SatisfyAll(HaveField("Status.Phase", completed), HaveField("Status.Message", BeEmpty())))

		By("beginning the second")
		Eventually(current(ctx, second)).Should(HaveField("Status.Phase", recreating))
		Eventually(runtime.Stops).Should(HaveLen(3))
		again(ctx, pod, second, "side")
		Eventually(current(ctx, second)).Should(HaveField("Status.Phase", completed))
		for _, w := range a.writes() {
			Expect(w.Resource).To(BeElementOf("containerrecreaterequests/status", "pods/status"))
		}
		n := len(a.writes())
		Consistently(a.writes, "4s", "500ms").Should(HaveLen(n))
	})

	It("keeps nobody else waiting, however long containers of others take to end", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		const many = 34 // more than are looked at at once
		var slow *corev1.Pod
		for i := range many {
			pod := newPod(ctx, ns, fmt.Sprintf("slow-%d", i), nodeName, container("main"), container("side"))
			id := runtime.Run(crifake.Container{
				PodNamespace: ns, PodName: pod.Name, PodUID: string(pod.UID), Name: "main", OnStop: func(ctx context.Context) { <-ctx.Done() },
			})
			setStatuses(ctx, pod, running("main", id, 0, time.Now()), running("side", start(pod, "side", 0), 0, time.Now()))
			ask(ctx, pod, pod.Name, []string{"main", "side"}, func(r *v1beta1.ContainerRecreateRequest) {
				r.Spec.Strategy.TerminationGracePeriodSeconds = ptr.To(int64(6 * 3600))
			})
			slow = pod
		}
		Eventually(runtime.Stops, "60s").Should(HaveLen(many), "one of each pod")
		quick := podOn(ctx, nodeName, "quick")
		r := ask(ctx, quick, "quick", []string{"main"})
		Eventually(runtime.Stops).Should(HaveLen(many + 1))
		again(ctx, quick, r, "main")
		Eventually(current(ctx, r)).Should(HaveField("Status.Phase", completed))

		By("telling those who wait, long before the spoke gives them up (CR-01)")
		Eventually(current(ctx, ask(ctx, slow, "next", []string{"side"}))).Should(HaveField("Status.Phase", v1beta1.ContainerRecreateRequestPending))
		Consistently(runtime.Stops, "1s", "200ms").Should(HaveLen(many + 1))
	})

	It("does not wait for what was begun for another pod of the name", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		old := newPod(ctx, ns, "again-0", nodeName, container("main"))
		ended := make(chan struct{})
		id := runtime.Run(crifake.Container{
			PodNamespace: ns, PodName: old.Name, PodUID: string(old.UID), Name: "main", OnStop: func(ctx context.Context) { <-ctx.Done(); close(ended) },
		})
		setStatuses(ctx, old, running("main", id, 0, time.Now()))
		ask(ctx, old, "old", []string{"main"}, func(r *v1beta1.ContainerRecreateRequest) {
			r.Spec.Strategy.TerminationGracePeriodSeconds = ptr.To(int64(6 * 3600))
		})
		Eventually(runtime.Stops).Should(HaveLen(1))
		Expect(cluster.Delete(ctx, old, client.GracePeriodSeconds(0))).To(Succeed())
		pod := newPod(ctx, ns, old.Name, nodeName, container("main"))
		setStatuses(ctx, pod, running("main", start(pod, "main", 0), 0, time.Now()))
		r := ask(ctx, pod, "new", []string{"main"})
		Eventually(runtime.Stops).Should(HaveLen(2))
		Eventually(ended).Should(BeClosed())
		again(ctx, pod, r, "main")
		Eventually(current(ctx, r)).Should(HaveField("Status.Phase", completed))
	})

	It("reaches no pod but its own, and its agent no more than it must", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		pod, elsewhere := podOn(ctx, nodeName, "crr-0"), podOn(ctx, "node-2", "crr-1")
		for name, forge := range map[string]func(*v1beta1.ContainerRecreateRequest){
			"a-pod-of-another-node": func(r *v1beta1.ContainerRecreateRequest) {
				r.Spec.PodName, r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = elsewhere.Name, string(elsewhere.UID)
			},
			"the-uid-of-another": func(r *v1beta1.ContainerRecreateRequest) {
				r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = string(elsewhere.UID)
			},
			"another-node": func(r *v1beta1.ContainerRecreateRequest) {
				r.Labels[v1beta1.ContainerRecreateRequestNodeNameKey] = "node-2"
			},
			"ended": func(r *v1beta1.ContainerRecreateRequest) { delete(r.Labels, v1beta1.ContainerRecreateRequestActiveKey) },
		} {
			ask(ctx, pod, name, []string{"main"}, forge)
		}
		last := ask(ctx, pod, "last", []string{"side"})
		Eventually(runtime.Stops).Should(ConsistOf(HaveField("ID", "side-2")))
		Expect(current(ctx, last)().Status.Phase).To(Equal(recreating))
		third := podOn(ctx, nodeName, "crr-2")
		for name, forge := range map[string]func(*v1beta1.ContainerRecreateRequest){
			"another-runtime": func(r *v1beta1.ContainerRecreateRequest) {
				r.Spec.Containers[0].StatusContext.ContainerID = "cri-o://main-1"
			},
			"no-context": func(r *v1beta1.ContainerRecreateRequest) { r.Spec.Containers[0].StatusContext = nil },
		} {
			Eventually(current(ctx, ask(ctx, third, name, []string{"main"}, forge))).Should(
				SatisfyAll(HaveField("Status.Phase", completed), HaveField("Status.Message", HavePrefix("failed to find runtime service: "))))
		}
		Consistently(runtime.Stops, "2s", "200ms").Should(HaveLen(1))

		By("asking for what the agent's role does not give")
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		role, err := client.New(config, client.Options{Scheme: cluster.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
		for what, err := range map[string]error{
			"create": role.Create(ctx, &v1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mine"}}),
			"patch":  role.Patch(ctx, last.DeepCopy(), patch),
			"delete": role.Delete(ctx, last.DeepCopy()),
			"pod":    role.Delete(ctx, pod.DeepCopy()),
			"label":  role.Patch(ctx, pod.DeepCopy(), patch),
		} {
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s: %v", what, err)
		}
	})
})
