// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	// probePeriod is that of the probes here, and slack what a busy machine may take beyond it.
	probePeriod, slack = 5 * time.Second, 6 * time.Second
	deletionCost       = "controller.kubernetes.io/pod-deletion-cost"
)

func handler(h corev1.ProbeHandler) corev1.Probe {
	return corev1.Probe{ProbeHandler: h, PeriodSeconds: int32(probePeriod / time.Second), TimeoutSeconds: 2}
}

func execProbe(command ...string) corev1.Probe {
	return handler(corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}})
}

func tcpProbe(port int32) corev1.Probe {
	return handler(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}})
}

func httpProbe(port int32) corev1.Probe {
	return handler(corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/version", Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP}})
}

func grpcProbe(port int32) corev1.Probe {
	return handler(corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: port}})
}

// marker makes a PodProbeMarker for the pods of a set, with one probe in container web: condition example.com/<name>,
// label <name>=healthy while it succeeds, and a deletion cost for either result.
func marker(ctx context.Context, set *appsv1beta1.CloneSet, name string, p corev1.Probe) *appsv1alpha1.PodProbeMarker {
	GinkgoHelper()
	m := &appsv1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name}}
	m.Spec.Selector = set.Spec.Selector
	m.Spec.Probes = []appsv1alpha1.PodContainerProbe{{
		Name: "check", ContainerName: "web", Probe: p, PodConditionType: "example.com/" + name,
		MarkerPolicy: []appsv1alpha1.ProbeMarkerPolicy{
			{State: appsv1alpha1.ProbeSucceeded, Labels: map[string]string{name: "healthy"}, Annotations: map[string]string{deletionCost: "10"}},
			{State: appsv1alpha1.ProbeFailed, Annotations: map[string]string{deletionCost: "-10"}},
		},
	}}
	Expect(member.Create(ctx, m)).To(Succeed())
	return m
}

// asks gives the marker another probe.
func asks(ctx context.Context, m *appsv1alpha1.PodProbeMarker, p corev1.Probe) {
	GinkgoHelper()
	Expect(member.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
	base := client.MergeFrom(m.DeepCopy())
	m.Spec.Probes[0].Probe = p
	Expect(member.Patch(ctx, m, base)).To(Succeed())
}

// shows is what the pods of a set show of a marker: status, label and deletion cost of each.
func shows(ctx context.Context, set *appsv1beta1.CloneSet, name string) func() []string {
	return func() []string {
		var out []string
		for _, pod := range podsOf(ctx, set) {
			status := "no condition"
			if c := pods.Condition(&pod, corev1.PodConditionType("example.com/"+name)); c != nil {
				status = string(c.Status)
			}
			out = append(out, fmt.Sprintf("%s %s %s", status, pod.Labels[name], pod.Annotations[deletionCost]))
		}
		return out
	}
}

// inTime waits until all pods show it, and says how long that took.
func inTime(ctx context.Context, set *appsv1beta1.CloneSet, m *appsv1alpha1.PodProbeMarker, want string) {
	GinkgoHelper()
	begun := time.Now()
	Eventually(ctx, shows(ctx, set, m.Name)).WithTimeout(probePeriod + slack).Should(HaveEach(want))
	figure := fmt.Sprintf("%s: %q on the pods after %.1f s, period %s", m.Name, want, time.Since(begun).Seconds(), probePeriod)
	AddReportEntry("probe", figure)
	GinkgoWriter.Println(figure)
}

const healthy, ill = "True healthy 10", "False  -10"

var _ = Describe("Custom probes on real nodes", Label("nodeagent", "probes"), Serial, func() {
	run := func(ctx context.Context, set *appsv1beta1.CloneSet, command ...string) {
		GinkgoHelper()
		for _, pod := range podsOf(ctx, set) {
			_, err := member.Kubectl(ctx, "", append([]string{"-n", pod.Namespace, "exec", pod.Name, "-c", "web", "--"}, command...)...)
			Expect(err).NotTo(HaveOccurred())
		}
	}

	It("mark pods by commands, whatever becomes of the agent and of the pods", func(ctx SpecContext) {
		set := shop(ctx, 3)
		before := records(ctx, set)
		m := marker(ctx, set, "command", execProbe("cat", "/well"))
		inTime(ctx, set, m, ill)
		for _, pod := range podsOf(ctx, set) {
			Expect(pods.Condition(&pod, "example.com/command").Message).To(ContainSubstring("/well: no such file"))
		}
		run(ctx, set, "touch", "/well")
		inTime(ctx, set, m, healthy)
		Eventually(func() int64 {
			Expect(member.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			return m.Status.MatchedPods
		}).Should(BeEquivalentTo(3))
		Expect(eventsOf(ctx, &podsOf(ctx, set)[0], "KruiseProbeSucceeded")).NotTo(BeEmpty())

		By("killing the agents")
		agents(syscall.SIGKILL)
		Consistently(ctx, shows(ctx, set, m.Name)).WithTimeout(3 * time.Second).Should(HaveEach(healthy))
		run(ctx, set, "rm", "/well")
		Expect(fleet.Repair(ctx)).To(Succeed())
		inTime(ctx, set, m, ill)
		run(ctx, set, "touch", "/well")
		inTime(ctx, set, m, healthy)

		By("recreating a pod")
		gone := podsOf(ctx, set)[0]
		Expect(member.Delete(ctx, &gone)).To(Succeed())
		Eventually(ctx, func() []corev1.Pod { return podsOf(ctx, set) }).WithTimeout(soon).Should(And(HaveLen(3), Not(ContainElement(HaveField("UID", gone.UID)))))
		settled(ctx, set)
		Eventually(ctx, shows(ctx, set, m.Name)).WithTimeout(probePeriod + slack).Should(ConsistOf(healthy, healthy, ill))
		run(ctx, set, "touch", "/well")
		inTime(ctx, set, m, healthy)

		By("taking the marker away")
		Expect(member.Delete(ctx, m)).To(Succeed())
		Eventually(ctx, func() bool { return member.Get(ctx, client.ObjectKeyFromObject(m), m) == nil }).WithTimeout(soon).Should(BeFalse())
		var list appsv1alpha1.NodePodProbeList
		Expect(member.List(ctx, &list)).To(Succeed())
		Expect(list.Items).To(HaveLen(2), "one for each node")
		for _, npp := range list.Items {
			for _, entry := range npp.Spec.PodProbes {
				Expect(entry.Namespace).NotTo(Equal(set.Namespace))
			}
		}
		after := records(ctx, set)
		for uid, then := range before {
			if now, there := after[uid]; there {
				sameBut(then, now)
			}
		}
	}, SpecTimeout(6*time.Minute))

	DescribeTable("follow a port that changes: healthy, unhealthy, healthy", func(ctx SpecContext, name string, at func(int32) corev1.Probe, message string) {
		set := shop(ctx, 2)
		m := marker(ctx, set, name, at(8080))
		inTime(ctx, set, m, healthy)
		asks(ctx, m, at(8081))
		inTime(ctx, set, m, ill)
		for _, pod := range podsOf(ctx, set) {
			Expect(pods.Condition(&pod, corev1.PodConditionType("example.com/"+name)).Message).To(HaveSuffix("connection refused"))
		}
		asks(ctx, m, at(8080))
		inTime(ctx, set, m, healthy)
		for _, pod := range podsOf(ctx, set) {
			Expect(strings.TrimSpace(pods.Condition(&pod, corev1.PodConditionType("example.com/"+name)).Message)).To(Equal(message))
		}
	},
		Entry("TCP", "tcp", tcpProbe, "", SpecTimeout(4*time.Minute)),
		Entry("HTTP", "http", httpProbe, "v1", SpecTimeout(4*time.Minute)),
		Entry("gRPC", "grpc", grpcProbe, "SERVING", SpecTimeout(4*time.Minute)),
	)

	It("say Unknown of a container whose image is missing, and the agents live on (PM-02)", func(ctx SpecContext) {
		set := shop(ctx, 1)
		m := &appsv1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "late"}}
		m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "late"}}
		m.Spec.Probes = []appsv1alpha1.PodContainerProbe{{Name: "check", ContainerName: "missing", Probe: execProbe("true"), PodConditionType: "example.com/late"}}
		Expect(member.Create(ctx, m)).To(Succeed())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "late", Labels: map[string]string{"app": "late"}}}
		pod.Spec.Containers = []corev1.Container{{Name: "missing", Image: "nobody-has-this:v1"}}
		Expect(member.Create(ctx, pod)).To(Succeed())
		Eventually(ctx, func() string {
			Expect(member.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			if c := pods.Condition(pod, "example.com/late"); c != nil {
				return string(c.Status) + " " + c.Message
			}
			return ""
		}).WithTimeout(soon).Should(Equal("False Container(missing) has not been created yet"))
		inTime(ctx, set, marker(ctx, set, "tcp", tcpProbe(8080)), healthy)
	}, SpecTimeout(4*time.Minute))
})
