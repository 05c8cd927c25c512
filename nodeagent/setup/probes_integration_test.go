// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

var _ = Describe("probes", Label("integration"), func() {
	var (
		runtime *crifake.Runtime
		dir, ns string
		npp     *v1alpha1.NodePodProbe
		execs   atomic.Int32 // in the container of another pod
	)

	exec := func(command string) corev1.Probe {
		return corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}}}
	}
	entry := func(pod *corev1.Pod, probes ...v1alpha1.ContainerProbe) v1alpha1.PodProbe {
		return v1alpha1.PodProbe{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), IP: "192.0.2.1", Probes: probes}
	}
	probe := func(name string, p corev1.Probe) v1alpha1.ContainerProbe {
		return v1alpha1.ContainerProbe{Name: name, ContainerName: "main", Probe: p}
	}
	ask := func(ctx context.Context, entries ...v1alpha1.PodProbe) {
		base := client.MergeFrom(npp.DeepCopy())
		npp.Spec.PodProbes = entries
		Expect(cluster.Patch(ctx, npp, base)).To(Succeed())
	}
	state := func(ctx context.Context, pod *corev1.Pod, name string) func() string {
		return func() string {
			var now v1alpha1.NodePodProbe
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(npp), &now)).To(Succeed())
			for _, p := range now.Status.PodProbeStatuses {
				for _, s := range p.ProbeStates {
					if p.UID == string(pod.UID) && s.Name == name {
						Expect(s.LastProbeTime.IsZero() || s.LastTransitionTime.IsZero()).To(BeFalse())
						return string(s.State) + " " + s.Message
					}
				}
			}
			return ""
		}
	}
	// start makes a pod whose container answers commands by the switch.
	start := func(ctx context.Context, name, node string, healthy *atomic.Bool) *corev1.Pod {
		pod := newPod(ctx, ns, name, node, container("main"))
		id := runtime.Run(crifake.Container{PodNamespace: ns, PodName: name, PodUID: string(pod.UID), Name: "main", Exec: func(_ context.Context, cmd []string) (crifake.Answer, error) {
			switch {
			case healthy == nil:
				execs.Add(1)
				return crifake.Answer{}, nil
			case cmd[0] == "missing":
				return crifake.Answer{}, errors.New("executable file not found in $PATH")
			case healthy.Load():
				return crifake.Answer{Stdout: "well"}, nil
			default:
				return crifake.Answer{Stderr: "ill", ExitCode: 1}, nil
			}
		}})
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.Phase, s.PodIP, s.PodIPs = corev1.PodRunning, "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
			s.ContainerStatuses = []corev1.ContainerStatus{running("main", id, 0, time.Now().Add(-time.Minute))}
		})
		return pod
	}
	statusWrites := func(a *agent) func() int {
		return func() int {
			n := 0
			for _, w := range a.writes() {
				if w.Resource == "nodepodprobes/status" {
					n++
				}
			}
			return n
		}
	}

	BeforeEach(func(ctx context.Context) {
		dir = newRunDir()
		runtime = serveRuntime(dir)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "probes-"}}
		Expect(cluster.Create(ctx, namespace)).To(Succeed())
		ns = namespace.Name
		npp = &v1alpha1.NodePodProbe{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
		Expect(cluster.Create(ctx, npp)).To(Succeed())
		execs.Store(0)
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(cluster.Delete(ctx, npp))).To(Succeed())
			Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0))).To(Succeed())
		})
	})

	It("writes results when they change and at no other time", func(ctx context.Context) {
		a := startAgent(dir)
		healthy := &atomic.Bool{}
		healthy.Store(true)
		pod := start(ctx, "probed-0", nodeName, healthy)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		_, port, err := net.SplitHostPort(listener.Addr().String())
		Expect(err).NotTo(HaveOccurred())
		tcp := corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.Parse(port)}}}
		slow := exec("check")
		slow.FailureThreshold = 4
		ask(ctx, entry(pod, probe("m#exec", exec("check")), probe("m#slow", slow), probe("m#tcp", tcp), probe("m#missing", exec("missing"))))
		Eventually(state(ctx, pod, "m#exec")).Should(Equal("Succeeded well"))
		Eventually(state(ctx, pod, "m#slow")).Should(Equal("Succeeded well"))
		Eventually(state(ctx, pod, "m#tcp")).Should(Equal("Succeeded "))
		Eventually(state(ctx, pod, "m#missing")).Should(And(HavePrefix("Unknown "), ContainSubstring("executable file not found")))
		Eventually(eventsAbout(ctx, pod.Name)).Should(ContainElement("KruiseProbeSucceeded"))

		By("writing nothing while nothing changes (PM-05)")
		time.Sleep(1500 * time.Millisecond) // the last coalesced write
		rest := statusWrites(a)()
		Consistently(statusWrites(a), "4s", "500ms").Should(Equal(rest))
		_, metrics := a.get("/metrics")
		Expect(metrics).To(ContainSubstring("flotilla_nodeagent_probe_workers 4"))

		By("failing each at its threshold, each on its own")
		healthy.Store(false)
		Eventually(state(ctx, pod, "m#exec")).Should(Equal("Failed ill"))
		Expect(state(ctx, pod, "m#slow")()).To(Equal("Succeeded well"))
		Eventually(state(ctx, pod, "m#slow")).Should(Equal("Failed ill"))
		Expect(listener.Close()).To(Succeed())
		Eventually(state(ctx, pod, "m#tcp")).Should(HavePrefix("Failed dial tcp 127.0.0.1:" + port))
		Eventually(eventsAbout(ctx, pod.Name)).Should(ContainElement("KruiseProbeFailed"))

		By("keeping results while the runtime is away, and while the agent is")
		healthy.Store(true)
		Eventually(state(ctx, pod, "m#slow")).Should(Equal("Succeeded well"))
		runtime.Stop()
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusServiceUnavailable))
		Consistently(state(ctx, pod, "m#slow"), "3s", "500ms").Should(Equal("Succeeded well"))
		a.kill()
		Expect(runtime.Serve(filepath.Join(dir, "containerd.sock"))).To(Succeed())
		b := startAgent(dir)
		Consistently(state(ctx, pod, "m#slow"), "3s", "200ms").Should(Equal("Succeeded well"))
		Consistently(statusWrites(b), "2s", "500ms").Should(BeZero(), "a new agent goes on from the status")

		By("a new instance of the container")
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		})
		Eventually(state(ctx, pod, "m#slow")).Should(Equal("Failed Container(main) is Non-running"))
		healthy.Store(true)
		again := runtime.Run(crifake.Container{PodNamespace: ns, PodName: pod.Name, PodUID: string(pod.UID), Name: "main", Exec: func(context.Context, []string) (crifake.Answer, error) {
			return crifake.Answer{Stdout: "well again"}, nil
		}})
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{running("main", again, 1, time.Now())}
		})
		Eventually(state(ctx, pod, "m#slow")).Should(Equal("Succeeded well again"))

		By("taking the probes off")
		ask(ctx)
		Eventually(state(ctx, pod, "m#slow")).Should(BeEmpty())
		_, metrics = b.get("/metrics")
		Expect(metrics).To(ContainSubstring("flotilla_nodeagent_probe_workers 0"))
	})

	It("asks gRPC servers for their health", func(ctx context.Context) {
		startAgent(dir)
		pod := start(ctx, "probed-0", nodeName, &atomic.Bool{})
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		server, health := grpc.NewServer(), grpchealth.NewServer()
		healthv1.RegisterHealthServer(server, health)
		go func() { _ = server.Serve(listener) }()
		DeferCleanup(server.Stop)
		ofService := func(service string) corev1.Probe {
			action := &corev1.GRPCAction{Port: int32(listener.Addr().(*net.TCPAddr).Port), Service: &service}
			return corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{GRPC: action}}
		}
		ask(ctx, entry(pod, probe("m#server", ofService("")), probe("m#cart", ofService("shop.Cart"))))
		Eventually(state(ctx, pod, "m#server")).Should(Equal("Succeeded SERVING"))
		Eventually(state(ctx, pod, "m#cart")).Should(Equal("Failed NotFound: unknown service"))
		health.SetServingStatus("shop.Cart", healthv1.HealthCheckResponse_SERVING)
		health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
		Eventually(state(ctx, pod, "m#cart")).Should(Equal("Succeeded SERVING"))
		Eventually(state(ctx, pod, "m#server")).Should(Equal("Failed NOT_SERVING"))
	})

	DescribeTable("runs none where a gate is off", func(ctx context.Context, gates string) {
		pod := start(ctx, "probed-0", nodeName, nil)
		ask(ctx, entry(pod, probe("m#exec", exec("check"))))
		a := startAgent(dir, "--feature-gates="+gates)
		Eventually(func() int { code, _ := a.get("/readyz"); return code }).Should(Equal(http.StatusOK))
		Consistently(func() int { return int(execs.Load()) + statusWrites(a)() }, "3s", "500ms").Should(BeZero())
		a.kill()
		startAgent(dir)
		Eventually(execs.Load).Should(BeNumerically(">", 0))
	},
		Entry("of its own", "PodProbeMarkerGate=false"),
		Entry("of the agent", "KruiseDaemon=false"),
	)

	It("acts on no pod but those that are here, whatever a NodePodProbe says", func(ctx context.Context) {
		startAgent(dir)
		healthy := &atomic.Bool{}
		healthy.Store(true)
		ours := start(ctx, "probed-0", nodeName, healthy)
		elsewhere := start(ctx, "elsewhere", "node-2", nil)
		forged := ours.DeepCopy()
		forged.UID = elsewhere.UID
		// The status of a pod is the kubelet's to write; whoever lies there does not get into another's container.
		liar := newPod(ctx, ns, "liar", nodeName, container("main"))
		victim := runtime.Run(crifake.Container{PodNamespace: ns, PodName: "victim", PodUID: "v", Name: "main", Exec: func(context.Context, []string) (crifake.Answer, error) {
			execs.Add(1)
			return crifake.Answer{}, nil
		}})
		setStatuses(ctx, liar, running("main", victim, 0, time.Now().Add(-time.Minute)))

		listener, err := net.Listen("tcp", "127.0.0.2:0") // an address that is no pod's
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(listener.Close)
		var reached atomic.Int32
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				reached.Add(1)
				_ = conn.Close()
			}
		}()
		port := listener.Addr().(*net.TCPAddr).Port
		tcp := func(host string) corev1.Probe {
			return corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Host: host, Port: intstr.FromInt(port)}}}
		}
		byIP := entry(ours, probe("m#ip", tcp("")), probe("m#host", tcp("127.0.0.2")), probe("m#exec", exec("check")))
		byIP.IP = "127.0.0.2"
		ask(ctx, byIP, entry(elsewhere, probe("m#exec", exec("check"))), entry(forged, probe("m#exec", exec("check"))), entry(liar, probe("m#exec", exec("check"))))
		Eventually(state(ctx, ours, "m#exec")).Should(Equal("Succeeded well"))
		Eventually(state(ctx, ours, "m#ip")).Should(HavePrefix("Failed dial tcp 127.0.0.1:" + strconv.Itoa(port)))
		Eventually(state(ctx, liar, "m#exec")).Should(And(HavePrefix("Unknown "), ContainSubstring("is not main of pod "+ns+"/liar")))
		Consistently(func() int32 { return execs.Load() + reached.Load() }, "3s", "500ms").Should(BeZero())
		Expect(state(ctx, elsewhere, "m#exec")()).To(BeEmpty())
		Expect(state(ctx, ours, "m#host")()).To(BeEmpty())
	})

	It("says Unknown of a container that cannot be made, and waits for an IP (PM-02, PM-03)", func(ctx context.Context) {
		a := startAgent(dir)
		pod := newPod(ctx, ns, "probed-0", nodeName, container("main"))
		setStatuses(ctx, pod, waiting("main"))
		tcp := corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(1)}}}
		ask(ctx, entry(pod, probe("m#exec", exec("check")), probe("m#tcp", tcp)))
		Eventually(state(ctx, pod, "m#exec")).Should(Equal("Unknown Container(main) has not been created yet"))
		Eventually(state(ctx, pod, "m#tcp")).Should(HavePrefix("Unknown"))
		id := runtime.Run(crifake.Container{PodNamespace: ns, PodName: pod.Name, PodUID: string(pod.UID), Name: "main"})
		setStatuses(ctx, pod, running("main", id, 0, time.Now().Add(-time.Minute)))
		Consistently(state(ctx, pod, "m#tcp"), "3s", "500ms").Should(HavePrefix("Unknown"))
		setStatus(ctx, pod, func(s *corev1.PodStatus) {
			s.PodIP, s.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
		})
		Eventually(state(ctx, pod, "m#tcp")).Should(HavePrefix("Failed dial tcp 127.0.0.1:1"))
		code, _ := a.get("/healthz")
		Expect(code).To(Equal(http.StatusOK))
	})

	It("has no right to more than the results", func(ctx context.Context) {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		agent, err := client.New(cfg, client.Options{Scheme: cluster.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		forbidden := func(err error) { GinkgoHelper(); Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err) }
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		forbidden(agent.Patch(ctx, npp.DeepCopy(), patch))
		forbidden(agent.Delete(ctx, npp.DeepCopy()))
		forbidden(agent.List(ctx, &v1alpha1.PodProbeMarkerList{}))
		forbidden(agent.List(ctx, &corev1.SecretList{}))
	})
})
