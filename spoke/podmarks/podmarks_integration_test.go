// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package podmarks_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

func all(state v1alpha1.ProbeState, message string) func(string, string) (v1alpha1.ProbeState, string) {
	return func(string, string) (v1alpha1.ProbeState, string) { return state, message }
}

var _ = Describe("custom probes", Label("integration"), func() {
	It("takes probes to nodes and results to pods", func(ctx context.Context) {
		ns := newNamespace(ctx)
		newNode(ctx, "a-1", nil)
		newNode(ctx, "a-2", nil)
		newNode(ctx, "a-vk", map[string]string{"type": "virtual-kubelet"})
		first, second := newPod(ctx, ns, "web-0", "a-1", "10.0.0.1"), newPod(ctx, ns, "web-1", "a-2", "")
		other := newPod(ctx, ns, "other", "a-1", "10.0.0.3")
		other.Labels = nil
		Expect(admin.Update(ctx, other)).To(Succeed())

		By("a NodePodProbe for each node but those of virtual kubelets")
		Eventually(asked(ctx, "a-1")).Should(BeEmpty())
		Eventually(asked(ctx, "a-2")).Should(BeEmpty())
		marker := newMarker(ctx, ns, "m", probe("check", "Checked", label("Succeeded", "healthy"), v1alpha1.ProbeMarkerPolicy{State: "Failed", Annotations: map[string]string{"cost": "-10"}}))
		Eventually(asked(ctx, "a-1")).Should(Equal([]string{"web-0/m#check"}))
		Eventually(asked(ctx, "a-2")).Should(Equal([]string{"web-1/m#check"}))
		Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKey{Name: "a-vk"}, &v1alpha1.NodePodProbe{}))).To(BeTrue())
		Eventually(func() v1alpha1.PodProbeMarkerStatus {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(marker), marker)).To(Succeed())
			return marker.Status
		}).Should(Equal(v1alpha1.PodProbeMarkerStatus{ObservedGeneration: 1, MatchedPods: 2}))
		Expect(marker.Finalizers).To(Equal([]string{"kruise.io/node-pod-probe-cleanup"}))

		By("the IP when it is known (PM-03)")
		Expect(objectOf(ctx, "a-2").Spec.PodProbes[0].IP).To(BeEmpty())
		setStatus(ctx, second, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = "10.0.0.2", []corev1.PodIP{{IP: "10.0.0.2"}} })
		Eventually(func() string { return objectOf(ctx, "a-2").Spec.PodProbes[0].IP }).Should(Equal("10.0.0.2"))

		By("results in one write for a pod")
		start := time.Now()
		report(ctx, "a-1", all("Succeeded", "fine"))
		Eventually(marks(ctx, first, "Checked")).Should(Equal(`healthy True "fine"`))
		report(ctx, "a-1", all("Succeeded", "finer"))
		Eventually(marks(ctx, first, "Checked")).Should(Equal(`healthy True "finer"`), "PM-04")
		report(ctx, "a-1", all("Failed", "ill"))
		Eventually(marks(ctx, first, "Checked")).Should(Equal(` False "ill"`))
		Expect(writes(start)).To(And(HaveLen(3), HaveEach(And(HaveField("Resource", "pods/status"), HaveField("Name", "web-0")))))
		now := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(first), now)).To(Succeed())
		Expect(now.Annotations).To(HaveKeyWithValue("cost", "-10"))
		Expect(now.Labels).To(HaveKeyWithValue("app", "web"), "other metadata stays (#1597)")

		By("a mark that somebody took off comes back")
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cost":null,"mine":"1"}}}`))
		Expect(admin.Patch(ctx, now, patch)).To(Succeed())
		Eventually(func() map[string]string {
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(first), now)).To(Succeed())
			return now.Annotations
		}).Should(Equal(map[string]string{"cost": "-10", "mine": "1"}))

		By("a change of the marker")
		base := client.MergeFrom(marker.DeepCopy())
		byName := probe("port", "", label("Succeeded", "well"), label("Failed", "ill"))
		byName.Probe.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}
		marker.Spec.Probes = []v1alpha1.PodContainerProbe{byName}
		Expect(admin.Patch(ctx, marker, base)).To(Succeed())
		Eventually(asked(ctx, "a-1")).Should(Equal([]string{"web-0/m#port"}), "the old one is pruned")
		Expect(objectOf(ctx, "a-1").Spec.PodProbes[0].Probes[0].Probe.TCPSocket.Port).To(Equal(intstr.FromInt32(8080)))
		report(ctx, "a-1", all("Failed", ""))
		Eventually(marks(ctx, first, "")).Should(Equal("ill"))

		By("a pod that leaves, a new pod, and another marker whose name begins alike")
		newMarker(ctx, ns, "xm", probe("check", "X"))
		newPod(ctx, ns, "web-2", "a-1", "10.0.0.4")
		Eventually(asked(ctx, "a-1")).Should(Equal([]string{"web-0/m#port", "web-0/xm#check", "web-2/m#port", "web-2/xm#check"}))
		Expect(admin.Delete(ctx, first, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(asked(ctx, "a-1")).Should(Equal([]string{"web-2/m#port", "web-2/xm#check"}))

		By("deletion of the marker, and of the node")
		Expect(admin.Delete(ctx, marker)).To(Succeed())
		Eventually(asked(ctx, "a-1")).Should(Equal([]string{"web-2/xm#check"}))
		Eventually(asked(ctx, "a-2")).Should(Equal([]string{"web-1/xm#check"}))
		Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(marker), marker)) }).Should(BeTrue())
		node := &corev1.Node{}
		Expect(admin.Get(ctx, client.ObjectKey{Name: "a-2"}, node)).To(Succeed())
		Expect(admin.Delete(ctx, node)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKey{Name: "a-2"}, &v1alpha1.NodePodProbe{}))
		}).Should(BeTrue())
	})

	It("reaches pods of the marker's namespace alone, by results of their own node alone", func(ctx context.Context) {
		ns, theirs := newNamespace(ctx), newNamespace(ctx)
		newNode(ctx, "e-1", nil)
		newNode(ctx, "e-2", nil)
		ours, victim := newPod(ctx, ns, "web-0", "e-1", "10.0.0.1"), newPod(ctx, theirs, "web-0", "e-1", "10.0.0.2")
		elsewhere := newPod(ctx, theirs, "web-1", "e-2", "10.0.0.3")
		newMarker(ctx, ns, "m", probe("check", "Checked", label("Succeeded", "healthy"), label("Failed", "ill")))
		Eventually(asked(ctx, "e-1")).Should(Equal([]string{"web-0/m#check"}))
		Expect(objectOf(ctx, "e-1").Spec.PodProbes).To(HaveExactElements(HaveField("UID", string(ours.UID))))
		result := func(pod *corev1.Pod, state v1alpha1.ProbeState) v1alpha1.PodProbeStatus {
			return v1alpha1.PodProbeStatus{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID), ProbeStates: []v1alpha1.ContainerProbeState{{Name: "m#check", State: state}}}
		}
		tell := func(list ...v1alpha1.PodProbeStatus) {
			npp := objectOf(ctx, "e-1")
			base := client.MergeFrom(npp.DeepCopy())
			npp.Status.PodProbeStatuses = list
			Expect(admin.Status().Patch(ctx, npp, base)).To(Succeed())
		}

		By("results for pods that the marker is not about")
		begun := time.Now()
		tell(result(ours, "Succeeded"), result(victim, "Succeeded"), result(elsewhere, "Succeeded"))
		Eventually(marks(ctx, ours, "Checked")).Should(Equal(`healthy True ""`))
		Consistently(func() []testkit.Write { return writes(begun) }, "2s", "250ms").ShouldNot(ContainElement(HaveField("Namespace", theirs)))

		By("an agent that tells of a pod of another node, which a marker is about")
		newMarker(ctx, theirs, "m", probe("check", "Checked", label("Succeeded", "healthy"), label("Failed", "ill")))
		Eventually(asked(ctx, "e-2")).Should(Equal([]string{"web-1/m#check"}))
		report(ctx, "e-2", all("Succeeded", ""))
		Eventually(marks(ctx, elsewhere, "Checked")).Should(Equal(`healthy True ""`))
		wrong := result(victim, "Failed")
		wrong.UID = string(ours.UID)
		tell(result(ours, "Failed"), result(elsewhere, "Failed"), wrong)
		Eventually(marks(ctx, ours, "Checked")).Should(Equal(`ill False ""`))
		Consistently(marks(ctx, elsewhere, "Checked"), "2s", "250ms").Should(Equal(`healthy True ""`))
		Expect(marks(ctx, victim, "Checked")()).NotTo(HavePrefix("ill"), "a result under another pod's UID")
	})

	It("tells of ports that containers do not have, and probes the rest", func(ctx context.Context) {
		ns := newNamespace(ctx)
		newNode(ctx, "f-1", nil)
		newPod(ctx, ns, "web-0", "f-1", "10.0.0.1")
		lost, rpc := probe("lost", "Lost"), probe("rpc", "Answers")
		lost.Probe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Scheme: "HTTP", Port: intstr.FromString("metrics")}}
		rpc.Probe.ProbeHandler = corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9000, Service: new("a.B")}}
		newMarker(ctx, ns, "m", lost, rpc)
		Eventually(asked(ctx, "f-1")).Should(Equal([]string{"web-0/m#rpc"}))
		Expect(objectOf(ctx, "f-1").Spec.PodProbes[0].Probes[0].Probe.GRPC).To(Equal(rpc.Probe.GRPC))
		Eventually(func() []eventsv1.Event {
			var list eventsv1.EventList
			Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}).Should(ContainElement(And(
			HaveField("Regarding.Kind", "PodProbeMarker"), HaveField("Regarding.Name", "m"), HaveField("Type", "Warning"),
			HaveField("Reason", "ProbePortUnknown"), HaveField("Note", `Probe lost is not run in pod web-0: its container has no port named "metrics"`),
		)))
	})

	It("survives results whose names say nothing", func(ctx context.Context) {
		ns := newNamespace(ctx)
		newNode(ctx, "b-1", nil)
		pod := newPod(ctx, ns, "web-0", "b-1", "10.0.0.1")
		newMarker(ctx, ns, "m", probe("check", "Checked"))
		Eventually(asked(ctx, "b-1")).Should(HaveLen(1))
		npp := objectOf(ctx, "b-1")
		base := client.MergeFrom(npp.DeepCopy())
		npp.Spec.PodProbes[0].Probes = append(npp.Spec.PodProbes[0].Probes, v1alpha1.ContainerProbe{Name: "web-0-main", ContainerName: "main", Probe: probe("", "").Probe})
		Expect(admin.Patch(ctx, npp, base)).To(Succeed())
		report(ctx, "b-1", all("Succeeded", ""))
		Eventually(marks(ctx, pod, "Checked")).Should(Equal(` True ""`))
		Consistently(asked(ctx, "b-1"), "1s").Should(ContainElement("web-0/web-0-main"), "what no marker asked for is not ours")
	})

	It("marks pods of virtual kubelets by their conditions", func(ctx context.Context) {
		ns := newNamespace(ctx)
		newNode(ctx, "c-vk", map[string]string{"type": "virtual-kubelet"})
		pod := newPod(ctx, ns, "web-0", "c-vk", "10.0.0.1")
		newMarker(ctx, ns, "m", probe("check", "Checked", label("Succeeded", "healthy"), label("Failed", "ill")))
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: "Checked", Status: corev1.ConditionTrue, Message: "m"})
		})
		Eventually(marks(ctx, pod, "Checked")).Should(Equal(`healthy True "m"`))
		setStatus(ctx, pod, func(s *corev1.PodStatus) { s.Conditions[1].Status = corev1.ConditionFalse })
		Eventually(marks(ctx, pod, "Checked")).Should(Equal(`ill False "m"`))
	})

	It("writes nothing for 2,000 pods whose probes are steady (PM-05)", Label("slow"), func(ctx context.Context) {
		const pods, nodes = 2000, 20
		ns := newNamespace(ctx)
		name := func(i int) string { return fmt.Sprintf("d-%02d", i%nodes) }
		for i := range nodes {
			newNode(ctx, name(i), nil)
		}
		newMarker(ctx, ns, "m", probe("check", "Checked", label("Succeeded", "healthy")), probe("other", "Other"))
		begun := time.Now()
		inParallel(pods, func(i int) {
			newPod(ctx, ns, fmt.Sprintf("web-%d", i), name(i), fmt.Sprintf("10.0.%d.%d", i/200, i%200+1))
		})
		for i := range nodes {
			Eventually(asked(ctx, name(i)), "60s").Should(HaveLen(2 * pods / nodes))
		}
		for i := range nodes {
			report(ctx, name(i), all("Succeeded", "fine"))
		}
		marked := func() int {
			n := 0
			for _, w := range writes(begun) {
				if w.Resource == "pods/status" && w.Code < 300 {
					n++
				}
			}
			return n
		}
		Eventually(marked, "90s", "1s").Should(Equal(pods), "one write for each pod")
		time.Sleep(3 * time.Second) // what counts pods takes changes in for a second
		all2k := writes(begun)
		AddReportEntry("writes to mark 2,000 pods on 20 nodes", tally(all2k))

		By("a refresh of the times of all results")
		rest := time.Now()
		for i := range nodes {
			report(ctx, name(i), all("Succeeded", "fine"))
		}
		Consistently(func() string { return tally(writes(rest)) }, "5s", "500ms").Should(BeEmpty())

		By("one result that changes costs one write")
		report(ctx, name(0), func(pod, probe string) (v1alpha1.ProbeState, string) {
			if pod == "web-0" && probe == "m#check" {
				return "Failed", "ill"
			}
			return "Succeeded", "fine"
		})
		Eventually(func() string { return tally(writes(rest)) }).Should(Equal("pods/status 1"))
		Consistently(func() string { return tally(writes(rest)) }, "3s", "500ms").Should(Equal("pods/status 1"))
	})
})
