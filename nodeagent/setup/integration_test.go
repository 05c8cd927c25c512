// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/containerhash"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

var none = containerhash.Env(nil, nil)

var _ = Describe("container report", Label("integration"), func() {
	var (
		runtime     *crifake.Runtime
		dir, socket string
		ns          string
		long        = time.Now().Add(-time.Hour)
	)

	run := func(pod *corev1.Pod, name string, env ...string) string {
		return runtime.Run(crifake.Container{PodNamespace: ns, PodName: pod.Name, PodUID: string(pod.UID), Name: name, Hash: "ff", Env: env})
	}
	serve := func() {
		Expect(runtime.Serve(socket)).To(Succeed())
		DeferCleanup(runtime.Stop)
	}
	ready := func(a *agent) {
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		socket = filepath.Join(dir, "containerd.sock")
		runtime = crifake.New("containerd")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "meta-"}}
		Expect(cluster.Create(ctx, namespace)).To(Succeed())
		ns = namespace.Name
		DeferCleanup(func(ctx context.Context) { // no namespace controller here
			Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0))).To(Succeed())
		})
	})

	It("follows the instances of a pod and writes nothing when nothing changed", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		ready(a)
		fromLabel := corev1.EnvVar{Name: "VERSION", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['version']"}}}
		pod := newPod(ctx, ns, "web-0", nodeName, container("main", fromLabel), container("side"))
		versioned := containerhash.ExpectedEnv(&pod.Spec.Containers[0], pod)
		main, side := run(pod, "main", "VERSION=v1"), run(pod, "side")

		By("reporting what runs while another container waits")
		setStatuses(ctx, pod, waiting("main"), running("side", side, 0, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(Equal(report(entry("side", side, 0, 0xff, none))))

		By("reporting all, in the order of the status")
		setStatuses(ctx, pod, running("main", main, 0, time.Now()), running("side", side, 0, time.Now()))
		first := report(entry("main", main, 0, 0xff, versioned), entry("side", side, 0, 0xff, none))
		Eventually(reportOf(ctx, pod)).Should(Equal(first))
		Eventually(a.writes).Should(HaveLen(2))
		Expect(a.writes()).To(HaveEach(HaveField("Resource", "pods/status")))

		By("writing nothing for changes that are none to it")
		setStatus(ctx, pod, func(s *corev1.PodStatus) { s.Message = "changed" })
		runtime.Stop()
		Eventually(func() string { _, words := a.get("/readyz"); return words }).Should(ContainSubstring("runtime: container runtime unavailable"))
		serve()
		ready(a)
		Consistently(a.writes, "5s", "500ms").Should(HaveLen(2))

		By("reporting a restarted container by its new ID, and keeping the other entry")
		asked := runtime.Calls("ContainerStatus")
		again := run(pod, "main", "VERSION=v0")
		setStatuses(ctx, pod, running("main", again, 1, time.Now()), pod.Status.ContainerStatuses[1])
		Eventually(reportOf(ctx, pod)).Should(SatisfyAll(
			ContainSubstring(`{"name":"main","containerID":"containerd://%s","restartCount":1,"hashes":{"plainHash":255,`, again),
			ContainSubstring(entry("side", side, 0, 0xff, none)),
			Not(ContainSubstring(entry("main", again, 1, 0xff, versioned))),
		))
		Eventually(a.writes).Should(HaveLen(3))
		Expect(runtime.Calls("ContainerStatus")).To(Equal(asked + 1))
	})

	It("leaves alone pods of other nodes, of other owners, and those that ran before it started", func(ctx context.Context) {
		serve()
		old := newPod(ctx, ns, "old", nodeName, container("main"))
		setStatuses(ctx, old, running("main", run(old, "main"), 0, long))
		a := startAgent(dir)
		ready(a)
		elsewhere := newPod(ctx, ns, "elsewhere", "node-2", container("main"))
		setStatuses(ctx, elsewhere, running("main", run(elsewhere, "main"), 0, time.Now()))
		foreign := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "foreign"},
			Spec:       corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{container("main")}},
		}
		Expect(cluster.Create(ctx, foreign)).To(Succeed())
		setStatuses(ctx, foreign, running("main", run(foreign, "main"), 0, time.Now()))
		last := newPod(ctx, ns, "last", nodeName, container("main"))
		id := run(last, "main")
		setStatuses(ctx, last, running("main", id, 0, time.Now()))
		Eventually(reportOf(ctx, last)).Should(Equal(report(entry("main", id, 0, 0xff, none))))
		for _, pod := range []*corev1.Pod{old, elsewhere, foreign} {
			Expect(reportOf(ctx, pod)()).To(BeEmpty(), pod.Name)
		}
		Eventually(a.writes).Should(HaveLen(1))

		By("reporting a pod that ran before once its in-place update begins")
		setStatus(ctx, old, beginUpdate)
		Eventually(reportOf(ctx, old)).Should(ContainSubstring("main"))
	})

	It("waits for a runtime that comes later, and says so", func(ctx context.Context) {
		a := startAgent(dir)
		pod := newPod(ctx, ns, "web-0", nodeName, container("main"))
		id := run(pod, "main")
		setStatuses(ctx, pod, running("main", id, 0, time.Now()))
		Eventually(func() string { _, words := a.get("/readyz"); return words }).Should(ContainSubstring("none of the known sockets"))
		code, _ := a.get("/healthz")
		Expect(code).To(Equal(http.StatusOK), "a restart mends no missing runtime")
		_, metrics := a.get("/metrics")
		Expect(metrics).To(ContainSubstring("flotilla_nodeagent_runtime_up 0"))
		Eventually(eventsAbout(ctx, nodeName), "20s").Should(ContainElement("ContainerRuntimeUnavailable"))

		serve()
		Eventually(reportOf(ctx, pod)).Should(Equal(report(entry("main", id, 0, 0xff, none))))
		ready(a)
		Eventually(eventsAbout(ctx, nodeName)).Should(ContainElement("ContainerRuntimeAvailable"))
		_, metrics = a.get("/metrics")
		Expect(metrics).To(SatisfyAll(
			ContainSubstring("flotilla_nodeagent_runtime_up 1"),
			ContainSubstring(`flotilla_nodeagent_containermeta_patches_total{result="written"} 1`),
		))
	})

	It("says by a condition of its own pod whether it has a runtime", func(ctx context.Context) {
		own := newPod(ctx, ns, "agent", nodeName, container("nodeagent"))
		setStatus(ctx, own, func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		})
		condition := func() corev1.PodCondition {
			var now corev1.Pod
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(own), &now)).To(Succeed())
			Expect(now.Status.Conditions).To(ContainElement(HaveField("Type", corev1.PodReady)), "the kubelet's conditions stay")
			for _, c := range now.Status.Conditions {
				if c.Type == "flotilla.sh/ContainerRuntimeUsable" {
					return c
				}
			}
			return corev1.PodCondition{}
		}
		usable := And(HaveField("Status", corev1.ConditionTrue), HaveField("Reason", "ContainerRuntimeAvailable"), HaveField("Message", ContainSubstring(socket)))
		a := startAgent(dir, "--namespace", ns, "--pod-name", own.Name)
		Eventually(condition, "20s").Should(And(
			HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "ContainerRuntimeUnavailable"),
			HaveField("Message", ContainSubstring("none of the known sockets is there; name one with --socket-file"))))

		By("when the runtime comes")
		serve()
		Eventually(condition).Should(usable)
		Expect(condition().LastTransitionTime.Time).To(BeTemporally("~", time.Now(), 10*time.Second))

		By("writing nothing when the runtime restarts")
		writes := len(a.writes())
		runtime.Stop()
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).ShouldNot(Equal(http.StatusOK))
		serve()
		ready(a)
		Consistently(a.writes, "3s", "500ms").Should(HaveLen(writes))

		By("when it goes for long, and is back")
		runtime.Stop()
		Eventually(condition, "20s").Should(And(HaveField("Status", corev1.ConditionFalse), HaveField("Message", ContainSubstring("--socket-file"))))
		serve()
		Eventually(condition).Should(usable)

		By("when the agent starts anew, without a write")
		a.kill()
		b := startAgent(dir, "--namespace", ns, "--pod-name", own.Name)
		ready(b)
		Consistently(b.writes, "3s", "500ms").Should(BeEmpty())
	})

	It("passes over a runtime that is not the kubelet's", func(ctx context.Context) {
		other := crifake.New("docker")
		Expect(other.Serve(socket)).To(Succeed())
		DeferCleanup(other.Stop)
		a := startAgent(dir)
		Eventually(func() string { _, words := a.get("/readyz"); return words }).
			Should(ContainSubstring("is docker, but the kubelet of this node uses containerd"))
		socket = filepath.Join(dir, "crio.sock")
		serve()
		ready(a)
	})

	It("loses nothing when it is killed", func(ctx context.Context) {
		serve()
		a := startAgent(dir)
		ready(a)
		pod := newPod(ctx, ns, "web-0", nodeName, container("main"))
		id := run(pod, "main")
		setStatuses(ctx, pod, running("main", id, 0, time.Now()))
		Eventually(reportOf(ctx, pod)).ShouldNot(BeEmpty())
		a.kill()
		again := run(pod, "main")
		setStatuses(ctx, pod, running("main", again, 1, time.Now()))
		b := startAgent(dir)
		Eventually(reportOf(ctx, pod)).Should(Equal(report(entry("main", again, 1, 0xff, none))))
		b.kill()
		c := startAgent(dir)
		ready(c)
		Consistently(c.writes, "3s", "500ms").Should(BeEmpty())
	})

	It("says when an update waits for an environment it cannot read", func(ctx context.Context) {
		serve()
		ready(startAgent(dir)) // what ran before is not reported
		fromLabel := corev1.EnvVar{Name: "VERSION", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['version']"}}}
		pod := newPod(ctx, ns, "web-0", nodeName, container("main", fromLabel))
		id := run(pod, "main")
		setStatuses(ctx, pod, running("main", id, 0, time.Now()))
		Eventually(reportOf(ctx, pod)).Should(Equal(report(entry("main", id, 0, 0xff, 0))))
		Expect(eventsAbout(ctx, pod.Name)()).To(BeEmpty())
		setStatus(ctx, pod, beginUpdate)
		Eventually(eventsAbout(ctx, pod.Name)).Should(ContainElement("ContainerEnvUnreadable"))
	})
})

// eventsAbout returns the reasons of the events about an object by name.
func eventsAbout(ctx context.Context, name string) func() []string {
	return func() []string {
		var list eventsv1.EventList
		Expect(cluster.List(ctx, &list)).To(Succeed())
		var reasons []string
		for _, e := range list.Items {
			if e.Regarding.Name == name {
				reasons = append(reasons, e.Reason)
			}
		}
		return reasons
	}
}
