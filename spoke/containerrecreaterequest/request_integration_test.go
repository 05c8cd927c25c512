// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package containerrecreaterequest

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// agent is the user agent of the controller under test.
const agent = "crr-under-test"

var (
	server *testkit.Server
	admin  client.Client
	scheme = runtime.NewScheme()
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	server = testkit.Start(t)
	var err error
	if admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "ContainerRecreateRequest")
}

var _ = BeforeSuite(func() {
	ctx, cancel := context.WithCancel(context.Background())
	opts := bootstrap.NewOptions(agent)
	opts.LeaderElect, opts.MetricsAddr, opts.HealthAddr = false, "0", "0"
	mgr, err := opts.Manager(server.ConfigFor(agent), scheme, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(add(mgr, controller.Options{MaxConcurrentReconciles: 10})).To(Succeed())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	DeferCleanup(func() {
		cancel()
		<-done
	})
})

// runningPod makes a pod whose container main runs in instance c://1.
func runningPod(ctx context.Context, name string, gates ...corev1.PodConditionType) *corev1.Pod {
	GinkgoHelper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	for _, gate := range gates {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
	Expect(admin.Create(ctx, p)).To(Succeed())
	kubelet(ctx, p, "1", 0)
	return p
}

// kubelet says that the container runs in an instance.
func kubelet(ctx context.Context, p *corev1.Pod, id string, restarts int32) {
	GinkgoHelper()
	base := client.MergeFrom(p.DeepCopy())
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", ContainerID: "c://" + id, RestartCount: restarts, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	Expect(admin.Status().Patch(ctx, p, base)).To(Succeed())
}

// ask makes a request for a pod, as admission leaves it.
func ask(ctx context.Context, p *corev1.Pod, changes ...func(*Request)) *Request {
	GinkgoHelper()
	r := &Request{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, GenerateName: p.Name + "-"}}
	r.Spec.PodName, r.Spec.Containers = p.Name, []v1beta1.ContainerRecreateRequestContainer{{Name: "main"}}
	v1beta1.CompleteContainerRecreateRequest(r, p, nil)
	for _, f := range changes {
		f(r)
	}
	Expect(admin.Create(ctx, r)).To(Succeed())
	return r
}

// nodeAgent writes a phase, as the agent of the node does.
func nodeAgent(ctx context.Context, r *Request, phase v1beta1.ContainerRecreateRequestPhase) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		r.Status.Phase = phase
		if phase == completed {
			r.Status.CompletionTime = ptr.To(metav1.Now())
		}
		return admin.Status().Update(ctx, r)
	}).Should(Succeed())
}

func current(ctx context.Context, r *Request) func(Gomega) *Request {
	return func(g Gomega) *Request {
		var got Request
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(r), &got)).To(Succeed())
		return &got
	}
}

func gate(ctx context.Context, p *corev1.Pod) func(Gomega) string {
	return func(g Gomega) string {
		var got corev1.Pod
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(p), &got)).To(Succeed())
		for _, c := range got.Status.Conditions {
			if c.Type == v1beta1.KruisePodReadyConditionType {
				return string(c.Status) + " " + c.Message
			}
		}
		return ""
	}
}

const recreatingPhase = v1beta1.ContainerRecreateRequestRecreating

var _ = Describe("ContainerRecreateRequest", Label("integration"), func() {
	It("holds the pod, tells of the new instance, and cleans up to the end", func(ctx SpecContext) {
		p := runningPod(ctx, "whole", v1beta1.KruisePodReadyConditionType)
		r := ask(ctx, p, func(r *Request) {
			r.Spec.Strategy.UnreadyGracePeriodSeconds, r.Spec.TTLSecondsAfterFinished = ptr.To(int64(1)), ptr.To(int32(3))
		})
		Consistently(gate(ctx, p)).WithTimeout(time.Second).Should(BeEmpty(), "before its turn")
		nodeAgent(ctx, r, recreatingPhase)
		Eventually(gate(ctx, p)).Should(Equal(`False [{"userAgent":"ContainerRecreateRequest","key":"default/` + r.Name + `"}]`))
		Eventually(current(ctx, r)).Should(HaveField("Status.Conditions", ConsistOf(SatisfyAll(
			HaveField("Type", "PreRecreateGrace"), HaveField("Status", metav1.ConditionTrue), HaveField("Message", v1beta1.PreRecreateGraceMessage)))))
		began := current(ctx, r)(Default).Status.Conditions[0].LastTransitionTime
		Expect(current(ctx, r)(Default).Finalizers).To(ConsistOf(finalizer))

		kubelet(ctx, p, "2", 1)
		Eventually(current(ctx, r)).Should(HaveField("Status.ContainerStatusSnapshot", Equal([]Snapshot{{Name: "main", ContainerID: "c://2", RestartCount: 1, Ready: true}})))
		By("writing nothing while nothing happens")
		quiet := time.Now()
		Consistently(func() []testkit.Write { return server.Writes(GinkgoTB(), agent, quiet) }).WithTimeout(7 * time.Second).WithPolling(time.Second).Should(BeEmpty())
		Expect(current(ctx, r)(Default).Status.Conditions[0].LastTransitionTime).To(Equal(began))

		nodeAgent(ctx, r, completed)
		Eventually(gate(ctx, p)).Should(Equal("True []"))
		Eventually(current(ctx, r)).Should(SatisfyAll(HaveField("Finalizers", BeEmpty()), HaveField("Labels", Not(HaveKey(v1beta1.ContainerRecreateRequestActiveKey)))))
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(r), &Request{}) }).Should(MatchError(ContainSubstring("not found")))
	})

	It("gives the pod back when it is deleted in the middle", func(ctx SpecContext) {
		p := runningPod(ctx, "deleted", v1beta1.KruisePodReadyConditionType)
		r := ask(ctx, p, func(r *Request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = ptr.To(int64(60)) })
		other := ask(ctx, p, func(r *Request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = ptr.To(int64(60)) })
		nodeAgent(ctx, r, recreatingPhase)
		nodeAgent(ctx, other, recreatingPhase)
		Eventually(gate(ctx, p)).Should(SatisfyAll(ContainSubstring(r.Name), ContainSubstring(other.Name)))
		Expect(admin.Delete(ctx, r)).To(Succeed())
		Eventually(gate(ctx, p)).Should(SatisfyAll(HavePrefix("False"), Not(ContainSubstring(r.Name)), ContainSubstring(other.Name)))
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(r), &Request{}) }).Should(MatchError(ContainSubstring("not found")))
		Expect(admin.Delete(ctx, other)).To(Succeed())
		Eventually(gate(ctx, p)).Should(Equal("True []"))
	})

	It("only waits for a pod that it cannot hold", func(ctx SpecContext) {
		p := runningPod(ctx, "open")
		since := time.Now()
		r := ask(ctx, p, func(r *Request) { r.Spec.Strategy.UnreadyGracePeriodSeconds = ptr.To(int64(1)) })
		nodeAgent(ctx, r, recreatingPhase)
		Eventually(current(ctx, r)).Should(HaveField("Status.Conditions", ConsistOf(HaveField("Type", "PreRecreateGrace"))), "the agent goes on then")
		kubelet(ctx, p, "2", 1)
		nodeAgent(ctx, r, completed)
		Eventually(current(ctx, r)).Should(HaveField("Labels", Not(HaveKey(v1beta1.ContainerRecreateRequestActiveKey))))
		Expect(current(ctx, r)(Default).Finalizers).To(BeEmpty())
		Expect(gate(ctx, p)(Default)).To(BeEmpty())
		Expect(server.Writes(GinkgoTB(), agent, since)).NotTo(ContainElement(HaveField("Name", p.Name)), "nothing of the pod is written")
	})

	It("ends a request whose time is over, or whose pod is gone or another", func(ctx SpecContext) {
		p := runningPod(ctx, "late", v1beta1.KruisePodReadyConditionType)
		late := ask(ctx, p, func(r *Request) { r.Spec.ActiveDeadlineSeconds = ptr.To(int64(3)) })
		nodeAgent(ctx, late, recreatingPhase)
		ends := func(r *Request, message string) {
			GinkgoHelper()
			Eventually(current(ctx, r)).Should(SatisfyAll(HaveField("Status.Phase", completed), HaveField("Status.Message", message),
				HaveField("Status.CompletionTime", Not(BeNil())), HaveField("Labels", Not(HaveKey(v1beta1.ContainerRecreateRequestActiveKey)))))
		}
		ends(late, v1beta1.ContainerRecreateRequestDeadlineExceeded)
		forged := ask(ctx, p, func(r *Request) { r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] = "another" })
		ends(forged, v1beta1.ContainerRecreateRequestPodGone)
		gone := ask(ctx, p)
		nodeAgent(ctx, gone, recreatingPhase)
		Expect(admin.Delete(ctx, p, client.GracePeriodSeconds(0))).To(Succeed())
		ends(gone, v1beta1.ContainerRecreateRequestPodGone)
	})
})
