// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package podmarks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/nodepodprobe"
	"github.com/flotilla-sh/flotilla/spoke/podmarks"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
	"github.com/flotilla-sh/flotilla/spoke/podprobemarker"
)

// userAgent is that of the controllers under test.
const userAgent = "probes-under-test"

var (
	server *testkit.Server
	admin  client.Client
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "custom probes")
}

var _ = BeforeSuite(func(ctx context.Context) {
	server = testkit.Start(GinkgoTB())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	var err error
	admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	opts := bootstrap.NewOptions(userAgent)
	opts.LeaderElect, opts.MetricsAddr, opts.HealthAddr = false, "0", "0"
	mgr, err := opts.Manager(server.ConfigFor(userAgent), scheme, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(podprobe.AddIndexes(ctx, mgr.GetFieldIndexer())).To(Succeed())
	Expect(podprobemarker.Add(mgr)).To(Succeed())
	Expect(nodepodprobe.Add(mgr)).To(Succeed())
	Expect(podmarks.Add(mgr, podmarks.Options{Serverless: true})).To(Succeed())
	run, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(run)).To(Succeed())
	}()
	DeferCleanup(func() { cancel(); <-done })
})

// writes are the controllers' requests that write since a moment.
func writes(since time.Time) []testkit.Write { return server.Writes(GinkgoTB(), userAgent, since) }

func newNamespace(ctx context.Context) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "probes-"}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { // no namespace controller here
		Expect(admin.DeleteAllOf(ctx, &v1alpha1.PodProbeMarker{}, client.InNamespace(ns.Name))).To(Succeed())
		Expect(admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns.Name), client.GracePeriodSeconds(0))).To(Succeed())
	})
	return ns.Name
}

// newNode makes a Ready node that goes with the spec.
func newNode(ctx context.Context, name string, labels map[string]string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	Expect(admin.Create(ctx, node)).To(Succeed())
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
	Expect(admin.Status().Update(ctx, node)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(admin.Delete(ctx, node))).To(Succeed()) })
}

// newPod makes a pod that runs.
func newPod(ctx context.Context, ns, name, node, ip string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main", Image: "sample:v1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		}}},
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	setStatus(ctx, pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodRunning
		if ip != "" {
			s.PodIP, s.PodIPs = ip, []corev1.PodIP{{IP: ip}}
		}
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}}
	})
	return pod
}

func setStatus(ctx context.Context, pod *corev1.Pod, change func(*corev1.PodStatus)) {
	base := client.MergeFrom(pod.DeepCopy())
	change(&pod.Status)
	Expect(admin.Status().Patch(ctx, pod, base)).To(Succeed())
}

func newMarker(ctx context.Context, ns, name string, probes ...v1alpha1.PodContainerProbe) *v1alpha1.PodProbeMarker {
	m := &v1alpha1.PodProbeMarker{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	m.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	m.Spec.Probes = probes
	Expect(admin.Create(ctx, m)).To(Succeed())
	return m
}

func probe(name, condition string, policies ...v1alpha1.ProbeMarkerPolicy) v1alpha1.PodContainerProbe {
	return v1alpha1.PodContainerProbe{
		Name: name, ContainerName: "main", PodConditionType: condition, MarkerPolicy: policies,
		Probe: corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}},
	}
}

func label(state v1alpha1.ProbeState, value string) v1alpha1.ProbeMarkerPolicy {
	return v1alpha1.ProbeMarkerPolicy{State: state, Labels: map[string]string{"nginx": value}}
}

// report plays the agent of a node: every probe has the result that answer tells.
func report(ctx context.Context, node string, answer func(pod, probe string) (v1alpha1.ProbeState, string)) {
	GinkgoHelper()
	npp := objectOf(ctx, node)
	base := client.MergeFrom(npp.DeepCopy())
	npp.Status.PodProbeStatuses = nil
	for _, entry := range npp.Spec.PodProbes {
		s := v1alpha1.PodProbeStatus{Name: entry.Name, Namespace: entry.Namespace, UID: entry.UID}
		for _, p := range entry.Probes {
			state, message := answer(entry.Name, p.Name)
			s.ProbeStates = append(s.ProbeStates, v1alpha1.ContainerProbeState{Name: p.Name, State: state, Message: message, LastProbeTime: metav1.Now(), LastTransitionTime: metav1.Now()})
		}
		npp.Status.PodProbeStatuses = append(npp.Status.PodProbeStatuses, s)
	}
	Expect(admin.Status().Patch(ctx, npp, base)).To(Succeed())
}

func objectOf(ctx context.Context, node string) *v1alpha1.NodePodProbe {
	npp := &v1alpha1.NodePodProbe{}
	Expect(admin.Get(ctx, client.ObjectKey{Name: node}, npp)).To(Succeed())
	return npp
}

// asked are the probes that a node's object asks for: pod/probe.
func asked(ctx context.Context, node string) func() []string {
	return func() []string {
		npp := &v1alpha1.NodePodProbe{}
		if err := admin.Get(ctx, client.ObjectKey{Name: node}, npp); err != nil {
			return []string{err.Error()}
		}
		out := []string{}
		for _, entry := range npp.Spec.PodProbes {
			for _, p := range entry.Probes {
				out = append(out, entry.Name+"/"+p.Name)
			}
		}
		return out
	}
}

// marks are what a pod shows of probes: the label nginx, the annotation cost, and a condition with its message.
func marks(ctx context.Context, pod *corev1.Pod, condition string) func() string {
	return func() string {
		now := &corev1.Pod{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), now)).To(Succeed())
		for _, c := range now.Status.Conditions {
			if string(c.Type) == condition {
				return fmt.Sprintf("%s %s %q", now.Labels["nginx"], c.Status, c.Message)
			}
		}
		return now.Labels["nginx"]
	}
}

// inParallel calls do for each number below n, many at once.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 16 {
		wg.Go(func() {
			defer GinkgoRecover()
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// tally counts writes by resource, in words.
func tally(list []testkit.Write) string {
	counts := map[string]int{}
	for _, w := range list {
		counts[w.Resource]++
	}
	words := make([]string, 0, len(counts))
	for resource, n := range counts {
		words = append(words, fmt.Sprintf("%s %d", resource, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}
