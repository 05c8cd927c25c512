// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package launchpriority

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// agent is the user agent of the controller under test.
const agent = "launch-under-test"

var (
	server *testkit.Server
	admin  client.Client
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	server = testkit.Start(t)
	var err error
	if admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Container launch priority")
}

// start runs the controller until the returned function is called, which waits for its end.
func start() (stop func()) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	opts := bootstrap.NewOptions(agent)
	opts.LeaderElect, opts.MetricsAddr, opts.HealthAddr = false, "0", "0"
	mgr, err := opts.Manager(server.ConfigFor(agent), clientgoscheme.Scheme, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(add(mgr, controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: new(true)})).To(Succeed())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return func() {
		cancel()
		<-done
	}
}

// launch is a pod of three containers with priorities 10, 5 and 0, as admission leaves it.
func launch(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	pod := podOf(one{name: "a", priority: 10}, one{name: "b", priority: 5}, one{name: "c"})
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: name}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Image = "none"
		pod.Spec.Containers[i].Env[0].ValueFrom.ConfigMapKeyRef.Name = name + barrierSuffix
	}
	pod.Status = corev1.PodStatus{}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	return pod
}

// ready reports the first n containers ready.
func ready(ctx context.Context, pod *corev1.Pod, n int) {
	GinkgoHelper()
	before := pod.DeepCopy()
	pod.Status.ContainerStatuses = nil
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: pod.Spec.Containers[i].Name, Ready: i < n, Image: "none", ImageID: "none",
		})
	}
	Expect(admin.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

// barrier returns the keys; nil while there is no ConfigMap.
func barrier(ctx context.Context, pod *corev1.Pod) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		var found corev1.ConfigMap
		err := admin.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: pod.Name + barrierSuffix}, &found)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		return found.Data
	}
}

func annotations(ctx context.Context, pod *corev1.Pod) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		return pod.Annotations
	}
}

var _ = Describe("Container launch priority", func() {
	It("lets containers go level by level, in five writes, and none at rest", func(ctx SpecContext) {
		since := time.Now()
		DeferCleanup(start())
		pod := launch(ctx, "levels")
		Eventually(barrier(ctx, pod)).Should(Equal(map[string]string{"p_10": "true"}), "the first")
		ready(ctx, pod, 1)
		Eventually(barrier(ctx, pod)).Should(Equal(map[string]string{"p_10": "true", "p_5": "true"}), "the second")
		Eventually(annotations(ctx, pod)).Should(HaveKeyWithValue(levelKey, "5"))
		Expect(pod.Annotations).NotTo(HaveKey(v1beta1.ContainerLaunchPriorityCompletedKey))
		ready(ctx, pod, 2)
		Eventually(annotations(ctx, pod)).Should(HaveKeyWithValue(v1beta1.ContainerLaunchPriorityCompletedKey, "true"))
		Eventually(barrier(ctx, pod)).Should(HaveLen(3))
		final := barrierOf(pod)
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(final), final)).To(Succeed())
		Expect(final.Immutable).To(HaveValue(BeTrue()), "kubelets need not watch it any more")
		ready(ctx, pod, 3)

		other := launch(ctx, "levels-after") // whose first key shows that the controller has seen what came before
		Eventually(barrier(ctx, other)).Should(HaveLen(1))
		var writes []string
		for _, w := range server.Writes(GinkgoTB(), agent, since) {
			if w.Name == pod.Name || w.Name == pod.Name+barrierSuffix {
				writes = append(writes, w.Verb+" "+w.Resource)
			}
		}
		Expect(writes).To(Equal([]string{"create configmaps", "patch configmaps", "patch pods", "patch configmaps", "patch pods"}))
	})

	It("goes on after it was stopped between barrier and pod", func(ctx SpecContext) {
		pod := launch(ctx, "stopped")
		half := &corev1.ConfigMap{Data: map[string]string{"p_10": "true", "p_5": "true", "p_0": "true"}}
		half.Namespace, half.Name, half.Immutable = pod.Namespace, pod.Name+barrierSuffix, new(true)
		half.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
		Expect(admin.Create(ctx, half)).To(Succeed())
		ready(ctx, pod, 2)
		DeferCleanup(start())
		Eventually(annotations(ctx, pod)).Should(HaveKeyWithValue(v1beta1.ContainerLaunchPriorityCompletedKey, "true"))
	})

	It("does not take the barrier of an earlier pod of the same name for its own", func(ctx SpecContext) {
		old := &corev1.ConfigMap{Data: map[string]string{"p_10": "true", "p_0": "true"}}
		old.Namespace, old.Name, old.Immutable = "default", "again-barrier", new(true)
		old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "again", UID: "earlier"}}
		Expect(admin.Create(ctx, old)).To(Succeed())
		DeferCleanup(start())
		pod := launch(ctx, "again")
		Eventually(barrier(ctx, pod)).Should(Equal(map[string]string{"p_10": "true"}))
		var found corev1.ConfigMap
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(old), &found)).To(Succeed())
		Expect(found.OwnerReferences).To(HaveLen(1))
		Expect(found.OwnerReferences[0].UID).To(Equal(pod.UID))
		Expect(found.OwnerReferences[0].Controller).To(BeNil())
	})

	It("leaves a ConfigMap alone that is not its own, and goes on when it is gone", func(ctx SpecContext) {
		users := &corev1.ConfigMap{Data: map[string]string{"precious": "data"}}
		users.Namespace, users.Name = "default", "theirs-barrier"
		Expect(admin.Create(ctx, users)).To(Succeed())
		DeferCleanup(start())
		pod := launch(ctx, "theirs")
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(admin.List(ctx, &list, client.InNamespace(pod.Namespace))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(HaveField("Regarding.Name", pod.Name), HaveField("Reason", EventTaken))))
		}).Should(Succeed())
		var found corev1.ConfigMap
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(users), &found)).To(Succeed())
		Expect(found.ResourceVersion).To(Equal(users.ResourceVersion), "nothing was written")
		Expect(admin.Delete(ctx, users)).To(Succeed())
		ready(ctx, pod, 0) // the pod is looked at again
		Eventually(barrier(ctx, pod)).Should(Equal(map[string]string{"p_10": "true"}))
	})

	It("makes a barrier again that somebody took away, and removes that of a pod which has ended", func(ctx SpecContext) {
		DeferCleanup(start())
		pod := launch(ctx, "taken")
		ready(ctx, pod, 2)
		Eventually(annotations(ctx, pod)).Should(HaveKeyWithValue(v1beta1.ContainerLaunchPriorityCompletedKey, "true"))
		Expect(admin.Delete(ctx, barrierOf(pod))).To(Succeed())
		before := pod.DeepCopy()
		pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: configError}
		Expect(admin.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
		Eventually(barrier(ctx, pod)).Should(HaveLen(3))

		before = pod.DeepCopy()
		pod.Status.Phase = corev1.PodFailed
		Expect(admin.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
		Eventually(barrier(ctx, pod)).Should(BeEmpty())
	})
})

// LP-02: barriers stay, but cost nothing: nobody writes them at rest, and the spoke never reads one.
var _ = Describe("A thousand pods in order", Label("slow"), func() {
	It("are left alone at rest", func(ctx SpecContext) {
		const many, atOnce = 1000, 20
		work := make(chan int)
		var group sync.WaitGroup
		for range atOnce {
			group.Go(func() {
				defer GinkgoRecover()
				for i := range work {
					pod := podOf(one{name: "a", priority: 1}, one{name: "b"})
					pod.ObjectMeta = metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("many-%d", i), Annotations: completed(&corev1.Pod{}).Annotations}
					for j := range pod.Spec.Containers {
						pod.Spec.Containers[j].Image = "none"
					}
					Expect(admin.Create(ctx, pod)).To(Succeed())
					ready(ctx, pod, 2)
				}
			})
		}
		for i := range many {
			work <- i
		}
		close(work)
		group.Wait()

		since := time.Now()
		DeferCleanup(start())
		for i := range 50 { // restarts, and what else kubelets tell
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("many-%d", i)}}
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			ready(ctx, pod, i%3)
		}
		last := launch(ctx, "after-many") // whose first key shows that the controller has seen what came before
		Eventually(barrier(ctx, last)).Should(HaveLen(1))
		writes := server.Writes(GinkgoTB(), agent, since)
		Expect(writes).To(ContainElement(HaveField("Name", last.Name+barrierSuffix)))
		Expect(writes).NotTo(ContainElement(HaveField("Name", HavePrefix("many-")))) // other specs' pods may still want something
	}, SpecTimeout(3*time.Minute))
})
