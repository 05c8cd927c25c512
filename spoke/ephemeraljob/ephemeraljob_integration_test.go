// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package ephemeraljob

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// agent is the user agent of the controller under test.
const agent = "ejob-under-test"

var (
	server *testkit.Server
	admin  client.Client
	scheme = runtime.NewScheme()
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
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
	RunSpecs(t, "EphemeralJob")
}

var _ = BeforeSuite(func() {
	ctx, cancel := context.WithCancel(context.Background())
	opts := bootstrap.NewOptions(agent)
	opts.LeaderElect, opts.MetricsAddr, opts.HealthAddr = false, "0", "0"
	mgr, err := opts.Manager(server.ConfigFor(agent), scheme, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(add(mgr, controller.Options{MaxConcurrentReconciles: workers})).To(Succeed())
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

// running makes pods that run.
func runningPods(ctx context.Context, app string, n int) []*corev1.Pod {
	GinkgoHelper()
	out := make([]*corev1.Pod, n)
	for i := range out {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", app, i), Labels: map[string]string{"app": app}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
		Expect(admin.Create(ctx, pod)).To(Succeed())
		pod.Status.Phase = corev1.PodRunning
		Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		out[i] = pod
	}
	return out
}

func create(ctx context.Context, app string, changes ...func(*v1alpha1.EphemeralJob)) *v1alpha1.EphemeralJob {
	GinkgoHelper()
	job := jobOf(changes...)
	job.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: app, Finalizers: []string{v1alpha1.EphemeralContainersCleanupFinalizer}}
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	c := &job.Spec.Template.EphemeralContainers[0]
	c.Image, c.ImagePullPolicy, c.TerminationMessagePolicy = "none", corev1.PullIfNotPresent, corev1.TerminationMessageReadFile
	Expect(admin.Create(ctx, job)).To(Succeed())
	return job
}

// filled counts the pods that have containers; those that have not ended yet are ended with a code.
func filled(ctx context.Context, app string, code int32) func(Gomega) int {
	return func(g Gomega) int {
		var list corev1.PodList
		g.Expect(admin.List(ctx, &list, client.InNamespace("default"), client.MatchingLabels{"app": app})).To(Succeed())
		n := 0
		for i := range list.Items {
			pod := &list.Items[i]
			if len(pod.Spec.EphemeralContainers) == 0 {
				continue
			}
			n++
			if len(pod.Status.EphemeralContainerStatuses) == 0 {
				pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
					Name: "probe", Image: "none", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
				}}
				g.Expect(admin.Status().Update(ctx, pod)).To(Succeed())
			}
		}
		return n
	}
}

func status(ctx context.Context, job *v1alpha1.EphemeralJob) func(Gomega) v1alpha1.EphemeralJobStatus {
	return func(g Gomega) v1alpha1.EphemeralJobStatus {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
		return job.Status
	}
}

var _ = Describe("EphemeralJob", func() {
	It("fills the pods it is for, once each, and ends", func(ctx SpecContext) {
		runningPods(ctx, "well", 5)
		since := time.Now()
		job := create(ctx, "well", replicas(4), parallelism(2))
		Eventually(filled(ctx, "well", 0)).Should(Equal(4))
		Eventually(status(ctx, job)).Should(And(HaveField("Phase", v1alpha1.EphemeralJobSucceeded), HaveField("Succeeded", int32(4)), HaveField("CompletionTime", Not(BeNil()))))
		Expect(filled(ctx, "well", 0)(Default)).To(Equal(4), "the fifth has none")
		patches := 0
		for _, w := range server.Writes(GinkgoTB(), agent, since) {
			if w.Resource == "pods/ephemeralcontainers" {
				patches++
			}
		}
		Expect(patches).To(Equal(4))
	})

	It("leaves a pod alone that has a container of the name", func(ctx SpecContext) {
		runningPods(ctx, "twice", 2)
		first := create(ctx, "twice", parallelism(2))
		Eventually(filled(ctx, "twice", 0)).Should(Equal(2))
		Eventually(status(ctx, first)).Should(HaveField("Phase", v1alpha1.EphemeralJobSucceeded))
		second := jobOf()
		second.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: "twice-again"}
		second.Spec = *first.Spec.DeepCopy()
		Expect(admin.Create(ctx, second)).To(Succeed())
		Eventually(status(ctx, second)).Should(And(HaveField("Phase", v1alpha1.EphemeralJobWaiting), HaveField("Matches", int32(0))))
	})

	It("fails at its deadline, and is gone after its time", func(ctx SpecContext) {
		runningPods(ctx, "late", 1)
		job := create(ctx, "late", deadline(1), func(job *v1alpha1.EphemeralJob) { job.Spec.TTLSecondsAfterFinished = new(int32(1)) })
		Eventually(func(g Gomega) { // with the finalizer that OpenKruise put on
			g.Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(job), job))).To(BeTrue())
		}).Should(Succeed())
	})

	It("ends though it went well in one pod and badly in another, and is gone after its time (EJ-01)", func(ctx SpecContext) {
		list := runningPods(ctx, "mixed", 2)
		job := create(ctx, "mixed", parallelism(2), func(job *v1alpha1.EphemeralJob) { job.Spec.TTLSecondsAfterFinished = new(int32(4)) })
		for code, pod := range list {
			Eventually(func(g Gomega) []corev1.EphemeralContainer {
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				return pod.Spec.EphemeralContainers
			}).Should(HaveLen(1))
			pod.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{
				Name: "probe", Image: "none", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code)}},
			}}
			Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		}
		Eventually(status(ctx, job)).Should(And(HaveField("Phase", v1alpha1.EphemeralJobFailed), HaveField("Succeeded", int32(1)), HaveField("Failed", int32(1)), HaveField("CompletionTime", Not(BeNil()))))
		Eventually(func() bool { return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(job), job)) }).Should(BeTrue())
	})

	It("puts nothing in while it is paused, and goes on afterwards", func(ctx SpecContext) {
		runningPods(ctx, "paused", 2)
		job := create(ctx, "paused", parallelism(2), paused)
		Eventually(status(ctx, job)).Should(And(HaveField("Phase", v1alpha1.EphemeralJobPaused), HaveField("Matches", int32(2))))
		Consistently(filled(ctx, "paused", 0)).WithTimeout(time.Second).Should(BeZero())
		pause := func(job *v1alpha1.EphemeralJob, value bool) {
			GinkgoHelper()
			before := job.DeepCopy()
			job.Spec.Paused = value
			Expect(admin.Patch(ctx, job, client.MergeFrom(before))).To(Succeed())
		}
		pause(job, false)
		Eventually(filled(ctx, "paused", 0)).Should(Equal(2))
		Eventually(status(ctx, job)).Should(HaveField("Phase", v1alpha1.EphemeralJobSucceeded))
	})

	It("holds nothing up when somebody deletes it", func(ctx SpecContext) {
		list := runningPods(ctx, "deleted", 1)
		job := create(ctx, "deleted")
		const other = "example.com/somebody-else"
		job.Finalizers = append(job.Finalizers, other)
		Expect(admin.Update(ctx, job)).To(Succeed())
		Eventually(status(ctx, job)).Should(HaveField("StartTime", Not(BeNil())))
		Expect(admin.Delete(ctx, job)).To(Succeed())
		Eventually(func(g Gomega) []string {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(job), job)).To(Succeed())
			return job.Finalizers
		}).Should(ConsistOf(other), "OpenKruise's is taken off, and no other")
		job.Finalizers = nil
		Expect(admin.Update(ctx, job)).To(Succeed())
		Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(job), job))).To(BeTrue())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(list[0]), list[0])).To(Succeed())
		Expect(list[0].DeletionTimestamp).To(BeNil())
	})

	It("says why containers cannot be put in", func(ctx SpecContext) {
		runningPods(ctx, "bad", 1)
		job := create(ctx, "bad", func(job *v1alpha1.EphemeralJob) {
			job.Spec.Template.EphemeralContainers[0].VolumeMounts = []corev1.VolumeMount{{Name: "no-such", MountPath: "/x"}}
		})
		Eventually(func(g Gomega) {
			var list corev1.EventList
			g.Expect(admin.List(ctx, &list, client.InNamespace("default"))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(
				HaveField("InvolvedObject.Name", job.Name), HaveField("Reason", v1alpha1.EphemeralJobReasonCreateFailed), HaveField("Message", ContainSubstring("no-such")),
			)))
		}).Should(Succeed())
	})

	It("goes on where one pod cannot have the containers, and ends", func(ctx SpecContext) {
		refusing := runningPods(ctx, "refusing", 1)[0]
		able := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "refusing-not", Labels: refusing.Labels}}
		able.Spec.Containers = []corev1.Container{{Name: "other", Image: "none"}}
		Expect(admin.Create(ctx, able)).To(Succeed())
		able.Status.Phase = corev1.PodRunning
		Expect(admin.Status().Update(ctx, able)).To(Succeed())
		job := create(ctx, "refusing", func(job *v1alpha1.EphemeralJob) {
			job.Spec.Template.EphemeralContainers[0].TargetContainerName = "other"
		})
		Eventually(filled(ctx, "refusing", 0)).Should(Equal(1))
		Eventually(status(ctx, job)).Should(And(HaveField("Phase", v1alpha1.EphemeralJobFailed), HaveField("Succeeded", int32(1)), HaveField("Failed", int32(1))))
	})
})
