// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

var _ = Describe("flags and gates", Label("integration"), func() {
	var (
		runtime *crifake.Runtime
		dir, ns string
		pod     *corev1.Pod
	)

	// work gives the agent three images to pull and a pod to report.
	work := func(ctx context.Context) {
		images := map[string]v1beta1.ImageSpec{}
		for _, name := range []string{"a", "b", "c"} {
			images[name] = v1beta1.ImageSpec{Tags: []v1beta1.ImageTagSpec{tag("1", 0)}}
		}
		node := &v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: nodeName}, Spec: v1beta1.NodeImageSpec{Images: images}}
		Expect(cluster.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(cluster.Delete(ctx, node)).To(Succeed()) })
		pod = newPod(ctx, ns, "web-0", nodeName, container("main"))
		id := runtime.Run(crifake.Container{PodNamespace: ns, PodName: pod.Name, PodUID: string(pod.UID), Name: "main", Hash: "ff"})
		setStatuses(ctx, pod, running("main", id, 0, time.Now()))
	}
	pulls := func() int { return len(runtime.Images.Pulls()) }
	start := func(flags ...string) *agent {
		a := startAgent(dir, flags...)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		return a
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		runtime = serveRuntime(dir)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "duties-"}}
		Expect(cluster.Create(ctx, namespace)).To(Succeed())
		ns = namespace.Name
		DeferCleanup(func(ctx context.Context) { // no namespace controller here
			Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0))).To(Succeed())
		})
	})

	It("neither pulls nor reports with KruiseDaemon off, which turns off all that it does", func(ctx context.Context) {
		a := start("--feature-gates=KruiseDaemon=false")
		work(ctx)
		Consistently(pulls, "3s", "200ms").Should(BeZero())
		Expect(reportOf(ctx, pod)()).To(BeEmpty())
		Expect(a.writes()).To(BeEmpty())
	})

	It("reports nothing with DaemonWatchingPod off, and pulls", func(ctx context.Context) {
		start("--feature-gates=DaemonWatchingPod=false")
		work(ctx)
		Eventually(pulls).Should(Equal(3))
		Consistently(reportOf(ctx, pod), "2s", "200ms").Should(BeEmpty())
	})

	It("pulls as many at once as it may, and serves profiles unless it may not", func(ctx context.Context) {
		profiles := freeAddress()
		served := func() int {
			resp, err := http.Get("http://" + profiles + "/debug/pprof/cmdline")
			if err != nil {
				return 0
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		release := runtime.Images.Hold("a:1")
		defer release()
		a := start("--max-workers-for-pull-image=1", "--pprof-addr="+profiles)
		work(ctx)
		Eventually(served).Should(Equal(http.StatusOK))
		Eventually(pulls).Should(BeNumerically(">=", 1))
		release()
		Eventually(pulls).Should(Equal(3))
		Expect(runtime.Images.Most()).To(Equal(1))
		a.kill()
		start("--enable-pprof=false", "--pprof-addr="+profiles)
		Consistently(served, "1s", "200ms").Should(BeZero())
	})
})
