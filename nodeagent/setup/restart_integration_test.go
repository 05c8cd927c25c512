// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// kubeletHash is the hash that kubelets give a container of newPod, as it stands in its annotation.
func kubeletHash(name string) string {
	raw, err := json.Marshal(map[string]string{"image": "sample:v1", "name": name})
	Expect(err).NotTo(HaveOccurred())
	h := fnv.New32a()
	fmt.Fprint(h, dump.ForHash(raw))
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

var _ = Describe("restart for changed metadata", Label("integration"), func() {
	var (
		runtime     *crifake.Runtime
		dir, socket string
		pod         *corev1.Pod
	)
	start := func(version string, restarts int32, onStop func(context.Context)) string {
		return runtime.Run(crifake.Container{
			PodNamespace: pod.Namespace, PodName: pod.Name, PodUID: string(pod.UID), Name: "main", Hash: kubeletHash("main"),
			Env: []string{"VERSION=" + version}, Attempt: uint32(restarts), OnStop: onStop,
		})
	}
	serve := func() {
		Expect(runtime.Serve(socket)).To(Succeed())
		DeferCleanup(runtime.Stop)
	}
	ready := func(a *agent) {
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
	}
	// update plays the spoke: an update that has changed the label, and the kubelet's answer to the closed gate.
	update := func(ctx context.Context) {
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: v1beta1.InPlaceUpdateReady, Status: corev1.ConditionFalse}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		})
		base := client.MergeFrom(pod.DeepCopy())
		pod.Labels["version"] = "v2"
		pod.Annotations[v1beta1.InPlaceUpdateStateKey] = `{"revision":"r2","updateEnvFromMetadata":true}`
		Expect(cluster.Patch(ctx, pod, base)).To(Succeed())
	}

	fromLabel := corev1.EnvVar{
		Name: "VERSION", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['version']"}},
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		socket = filepath.Join(dir, "containerd.sock")
		runtime = crifake.New("containerd")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "restart-"}}
		Expect(cluster.Create(ctx, namespace)).To(Succeed())
		pod = newPod(ctx, namespace.Name, namespace.Name, nodeName, container("main", fromLabel))
		DeferCleanup(func(ctx context.Context) { // no namespace controller here
			Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(pod.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
		})
	})
	// reported starts the first instance and waits for its report.
	reported := func(ctx context.Context, onStop func(context.Context)) string {
		id := start("v1", 0, onStop)
		setStatuses(ctx, pod, running("main", id, 0, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(ContainSubstring(id))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		return id
	}

	It("stops an instance once, and one with the old env again after a pause", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		ready(a)
		first := reported(ctx, nil)
		By("leaving it alone while the label is edited by hand")
		base := client.MergeFrom(pod.DeepCopy())
		pod.Labels["version"] = "by-hand"
		Expect(cluster.Patch(ctx, pod, base)).To(Succeed())
		Consistently(runtime.Stops, "4s", "200ms").Should(BeEmpty())

		update(ctx)
		stopFirst := crifake.Stop{ID: first, Grace: 30 * time.Second}
		Eventually(runtime.Stops).Should(Equal([]crifake.Stop{stopFirst}))
		stopped := time.Now()
		Eventually(eventsAbout(ctx, pod.Name)).Should(ContainElement("Killing"))
		Consistently(runtime.Stops, "5s", "200ms").Should(HaveLen(1))

		By("playing a kubelet that did not know the label yet")
		second := start("v1", 1, nil)
		setStatuses(ctx, pod, running("main", second, 1, time.Now()))
		Eventually(runtime.Stops).Should(Equal([]crifake.Stop{stopFirst, {ID: second, Grace: 30 * time.Second}}))
		Expect(time.Since(stopped)).To(BeNumerically(">=", 3*time.Second))

		By("leaving alone what has the new env")
		third := start("v2", 2, nil)
		setStatuses(ctx, pod, running("main", third, 2, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(ContainSubstring(third))
		Consistently(runtime.Stops, "8s", "200ms").Should(HaveLen(2))
		_, metrics := a.get("/metrics")
		Expect(metrics).To(ContainSubstring(`flotilla_nodeagent_containermeta_restarts_total{outcome="Stopped"} 2`))
	})

	It("keeps nobody else waiting, however long containers take to end", func(ctx context.Context) {
		serve()
		ready(startAgent(dir))
		const many = 11 // more than are looked at at once
		for i := range many {
			pod = newPod(ctx, pod.Namespace, fmt.Sprintf("slow-%d", i), nodeName, container("main", fromLabel))
			reported(ctx, func(ctx context.Context) { <-ctx.Done() })
			update(ctx)
		}
		Eventually(runtime.Stops).Should(HaveLen(many))
		pod = newPod(ctx, pod.Namespace, "quick", nodeName, container("main", fromLabel))
		id := reported(ctx, nil)
		update(ctx)
		Eventually(runtime.Stops).Should(ContainElement(HaveField("ID", id)))
		again := start("v2", 1, nil)
		setStatuses(ctx, pod, running("main", again, 1, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(ContainSubstring(again))
		Consistently(runtime.Stops, "4s", "200ms").Should(HaveLen(many + 1))
	})

	It("looks at the pod again before each of its containers", func(ctx context.Context) {
		serve()
		ready(startAgent(dir))
		for name, after := range map[string]func(){
			"goes-on":    func() {},
			"is-deleted": func() { Expect(cluster.Delete(ctx, pod)).To(Succeed()) }, // it has a grace period, and no kubelet
		} {
			By("a pod that " + name)
			pod = newPod(ctx, pod.Namespace, name, nodeName, container("main", fromLabel), container("side", fromLabel))
			first := len(runtime.Stops())
			release := make(chan struct{})
			main := start("v1", 0, func(ctx context.Context) {
				select {
				case <-release:
				case <-ctx.Done():
				}
			})
			side := runtime.Run(crifake.Container{
				PodNamespace: pod.Namespace, PodName: pod.Name, PodUID: string(pod.UID), Name: "side", Hash: kubeletHash("side"), Env: []string{"VERSION=v1"},
			})
			setStatuses(ctx, pod, running("main", main, 0, time.Now()), running("side", side, 0, time.Now()))
			Eventually(reportOf(ctx, pod)).Should(And(ContainSubstring(main), ContainSubstring(side)))
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			update(ctx)
			Eventually(runtime.Stops).Should(HaveLen(first + 1))
			after()
			close(release)
			if name == "goes-on" {
				Eventually(runtime.Stops).Should(HaveLen(first + 2))
				Expect(runtime.Stops()[first+1].ID).To(Equal(side))
			} else {
				Consistently(runtime.Stops, "5s", "200ms").Should(HaveLen(first + 1))
			}
		}
	})

	It("stops no second instance when it is killed in the middle, and waits for a runtime that is away", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		ready(a)
		asked := make(chan bool, 10)
		id := reported(ctx, func(ctx context.Context) {
			asked <- true
			if len(asked) == 1 {
				<-ctx.Done() // it does not end before its caller is killed
			}
		})
		update(ctx)
		Eventually(asked).Should(HaveLen(1))
		a.kill()
		runtime.Stop()
		b := startAgent(dir)
		Eventually(func() string { _, words := b.get("/readyz"); return words }).Should(ContainSubstring("runtime: "))
		Consistently(runtime.Stops, "3s", "200ms").Should(HaveLen(1))
		serve()
		Eventually(asked).Should(HaveLen(2))
		Eventually(runtime.Stops).Should(HaveEach(HaveField("ID", id)))

		again := start("v2", 1, nil)
		setStatuses(ctx, pod, running("main", again, 1, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(ContainSubstring(again))
		Consistently(runtime.Stops, "5s", "200ms").Should(HaveLen(2))
	})
})
