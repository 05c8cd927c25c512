// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package uniteddeployment

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// stage is a namespace with a UnitedDeployment of Deployments, whose pods get ready, but for those of full subsets.
type stage struct {
	ud   *appsv1beta1.UnitedDeployment
	full atomic.Pointer[sets.Set[string]]
}

// perform starts the controllers of Deployments, plays scheduler and kubelet, and makes the UnitedDeployment.
func perform(ctx context.Context, ud *appsv1beta1.UnitedDeployment, full ...string) *stage {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ud-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	server.StartControllers(GinkgoTB(), "deployment-controller", "replicaset-controller")
	DeferCleanup(start(server.ConfigFor(agent)))
	s := &stage{ud: ud}
	s.setFull(full...)
	ud.Namespace, ud.UID, ud.Generation = namespace.Name, "", 0
	Expect(admin.Create(ctx, ud)).To(Succeed())
	playing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		for playing.Err() == nil {
			s.play(playing)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	DeferCleanup(func() {
		stop()
		<-done
	})
	return s
}

func (s *stage) setFull(names ...string) { s.full.Store(ptr.To(sets.New(names...))) }

// play tells what became of pods that nothing became of yet.
func (s *stage) play(ctx context.Context) {
	list := &corev1.PodList{}
	if admin.List(ctx, list, client.InNamespace(s.ud.Namespace)) != nil {
		return // at the end
	}
	for i := range list.Items {
		pod := &list.Items[i]
		waits := s.full.Load().Has(pod.Labels[appsv1beta1.SubsetNameLabel])
		switch {
		case pod.Status.Phase == corev1.PodRunning, waits && len(pod.Status.Conditions) > 0:
			continue
		case waits:
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		default:
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		}
		_ = admin.Status().Update(ctx, pod) // again next time
	}
}

// pods are how many active pods each subset has, in the order of the spec, and how many of them are in reserve.
func (s *stage) pods(ctx context.Context) func() string {
	return func() string {
		list := &corev1.PodList{}
		Expect(admin.List(ctx, list, client.InNamespace(s.ud.Namespace))).To(Succeed())
		all, kept := map[string]int{}, map[string]int{}
		for i := range list.Items {
			pod := &list.Items[i]
			if pod.DeletionTimestamp != nil {
				continue
			}
			all[pod.Labels[appsv1beta1.SubsetNameLabel]]++
			if standingOf(pod) == reserved {
				kept[pod.Labels[appsv1beta1.SubsetNameLabel]]++
			}
		}
		var out, in []int
		for _, subset := range s.ud.Spec.Topology.Subsets {
			out, in = append(out, all[subset.Name]), append(in, kept[subset.Name])
		}
		return fmt.Sprint(out, in)
	}
}

func (s *stage) edit(ctx context.Context, change func(*appsv1beta1.UnitedDeploymentSpec)) {
	GinkgoHelper()
	base := client.MergeFrom(s.ud.DeepCopy())
	change(&s.ud.Spec)
	Expect(admin.Patch(ctx, s.ud, base)).To(Succeed())
}

// scale asks for a total and waits for the pods.
func (s *stage) scale(ctx context.Context, total int32, want string) {
	GinkgoHelper()
	s.edit(ctx, func(spec *appsv1beta1.UnitedDeploymentSpec) { spec.Replicas = &total })
	Eventually(s.pods(ctx)).Should(Equal(want))
}

func (s *stage) status(ctx context.Context) *appsv1beta1.UnitedDeploymentStatus {
	got := &appsv1beta1.UnitedDeployment{}
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(s.ud), got)).To(Succeed())
	return &got.Status
}

// schedulable is what the conditions say of each subset.
func (s *stage) schedulable(ctx context.Context) func() map[string]string {
	return func() map[string]string {
		out := map[string]string{}
		for _, e := range s.status(ctx).SubsetStatuses {
			if c := conditions.FindCompat(e.Conditions, appsv1beta1.UnitedDeploymentSubsetSchedulable); c != nil {
				out[e.Name] = string(c.Status) + " " + c.Reason
			}
		}
		return out
	}
}

// bound gives a subset a minimum and a maximum; below 0 is none.
func bound(name string, low, high int32) appsv1beta1.Subset {
	s := subset(name, -1)
	if low >= 0 {
		s.MinReplicas = ptr.To(intstr.FromInt32(low))
	}
	if high >= 0 {
		s.MaxReplicas = ptr.To(intstr.FromInt32(high))
	}
	return s
}

// paced makes the schedule Adaptive, with these seconds.
func paced(ud *appsv1beta1.UnitedDeployment, critical, duration int32, reserve bool) *appsv1beta1.UnitedDeployment {
	adaptive(ud).Spec.Topology.ScheduleStrategy.Adaptive = &appsv1beta1.AdaptiveUnitedDeploymentStrategy{
		RescheduleCriticalSeconds: &critical, UnschedulableDuration: &duration, ReserveUnschedulablePods: reserve,
	}
	return ud
}

func quietFor(ctx context.Context) {
	GinkgoHelper()
	since := time.Now()
	Eventually(func() bool {
		since, _ = time.Now(), ctx.Err()
		time.Sleep(time.Second)
		return len(server.Writes(GinkgoTB(), agent, since)) == 0
	}).Should(BeTrue())
	since = time.Now()
	Consistently(func() any { return server.Writes(GinkgoTB(), agent, since) }, rest60, 500*time.Millisecond).Should(BeEmpty())
}

var _ = Describe("UnitedDeployment with an Adaptive schedule", func() {
	It("moves pods away from a full subset, and back", func(ctx context.Context) {
		s := perform(ctx, paced(deploymentUD(3, bound("a", -1, 2), bound("b", -1, 2), bound("c", -1, -1)), 3, 10, false), "b")
		Eventually(s.pods(ctx)).Should(Equal("[2 0 1] [0 0 0]"))
		Eventually(s.schedulable(ctx)).Should(Equal(map[string]string{"b": "False reschedule"}))
		s.scale(ctx, 5, "[2 0 3] [0 0 0]")
		s.scale(ctx, 4, "[2 0 2] [0 0 0]")
		By("the full subset is tried again")
		Eventually(s.schedulable(ctx)).Should(Equal(map[string]string{"b": "True recover"}))
		s.scale(ctx, 5, "[2 1 2] [0 0 0]")
		s.scale(ctx, 4, "[2 0 2] [0 0 0]")
		s.scale(ctx, 3, "[2 0 1] [0 0 0]")
		By("a subset with a minimum comes")
		s.edit(ctx, func(spec *appsv1beta1.UnitedDeploymentSpec) {
			spec.Topology.Subsets = append(spec.Topology.Subsets, bound("d", 2, -1))
		})
		s.scale(ctx, 6, "[2 0 2 2] [0 0 0 0]")
		By("the domain is mended, and the other subset goes")
		s.setFull()
		Eventually(s.schedulable(ctx)).Should(HaveKeyWithValue("b", "True recover"))
		s.edit(ctx, func(spec *appsv1beta1.UnitedDeploymentSpec) { spec.Topology.Subsets = spec.Topology.Subsets[:3] })
		Eventually(s.pods(ctx)).Should(Equal("[2 2 2] [0 0 0]"))
		Eventually(func() int32 { return s.status(ctx).ReadyReplicas }).Should(BeEquivalentTo(6))
		s.scale(ctx, 3, "[2 1 0] [0 0 0]")
		s.scale(ctx, 5, "[2 2 1] [0 0 0]")
		quietFor(ctx)
	})

	It("keeps the minimum of a full subset", func(ctx context.Context) {
		s := perform(ctx, paced(deploymentUD(3, bound("a", 1, 2), bound("b", -1, -1)), 1, 4, false), "a")
		Eventually(s.pods(ctx)).Should(Equal("[1 2] [0 0]"))
		s.scale(ctx, 4, "[1 3] [0 0]")
		s.scale(ctx, 3, "[1 2] [0 0]")
		s.setFull()
		Eventually(func() int32 { return s.status(ctx).ReadyReplicas }).Should(BeEquivalentTo(3))
		Eventually(s.schedulable(ctx)).Should(Equal(map[string]string{"a": "True recover"}))
		s.scale(ctx, 5, "[2 3] [0 0]")
		Eventually(func() int32 { return s.status(ctx).ReadyReplicas }).Should(BeEquivalentTo(5))
		s.scale(ctx, 4, "[2 2] [0 0]")
		s.scale(ctx, 3, "[2 1] [0 0]")
		s.scale(ctx, 1, "[1 0] [0 0]")
		quietFor(ctx)
	})

	It("keeps pods that find no node in reserve, updates past them, and takes their substitutes back", func(ctx context.Context) {
		s := perform(ctx, paced(deploymentUD(2, subset("a", -1), subset("b", -1), subset("c", -1)), 2, 1, true), "a", "b")
		Eventually(s.pods(ctx)).Should(Equal("[2 2 2] [2 2 0]"))
		Eventually(func() string {
			status := s.status(ctx)
			return fmt.Sprintf("%d %d %s", status.Replicas, status.ReservedPods, status.LabelSelector)
		}).Should(Equal("2 4 app=web,apps.kruise.io/united-deployment-reserved-pod=false"))
		quietFor(ctx)
		s.scale(ctx, 4, "[2 2 4] [2 2 0]")
		s.scale(ctx, 2, "[2 2 2] [2 2 0]")
		s.scale(ctx, 4, "[2 2 4] [2 2 0]")
		By("a new template")
		s.edit(ctx, func(spec *appsv1beta1.UnitedDeploymentSpec) {
			spec.Template.DeploymentTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2"
		})
		Eventually(func() map[string]int {
			list := &corev1.PodList{}
			Expect(admin.List(ctx, list, client.InNamespace(s.ud.Namespace))).To(Succeed())
			out := map[string]int{}
			for i := range list.Items {
				out[list.Items[i].Spec.Containers[0].Image]++
			}
			return out
		}).Should(Equal(map[string]int{"web:v2": 8}))
		Eventually(s.pods(ctx)).Should(Equal("[2 2 4] [2 2 0]"))
		Eventually(func() string { return s.status(ctx).CurrentRevision }).Should(Equal(s.status(ctx).UpdatedRevision))
		quietFor(ctx)
		By("the first domain is mended")
		s.setFull("b")
		Eventually(s.pods(ctx)).Should(Equal("[4 0 0] [0 0 0]"))
		s.scale(ctx, 5, "[5 0 0] [0 0 0]")
		quietFor(ctx)
		Expect(s.schedulable(ctx)()).To(HaveKeyWithValue("a", "True reschedule"))
		deployments := &appsv1.DeploymentList{}
		Expect(admin.List(ctx, deployments, client.InNamespace(s.ud.Namespace))).To(Succeed())
		Expect(deployments.Items).To(HaveEach(HaveField("Spec.Strategy.RollingUpdate.MaxUnavailable", HaveValue(Equal(intstr.FromString("25%"))))))
	})

	It("keeps minima in reserve", func(ctx context.Context) {
		s := perform(ctx, paced(deploymentUD(2, bound("a", 1, -1), bound("b", 1, -1), bound("c", -1, -1)), 2, 1, true), "a", "b")
		Eventually(s.pods(ctx)).Should(Equal("[1 1 2] [1 1 0]"))
		s.scale(ctx, 4, "[1 1 4] [1 1 0]")
		s.setFull("b")
		Eventually(s.pods(ctx)).Should(Equal("[4 1 0] [0 1 0]"))
		s.scale(ctx, 5, "[5 1 0] [0 1 0]")
		quietFor(ctx)
	})

	It("writes Advanced StatefulSets", func(ctx context.Context) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ud-"}}
		Expect(admin.Create(ctx, namespace)).To(Succeed())
		DeferCleanup(start(server.ConfigFor(agent)))
		ud := advancedUD(5, subset("a", 2), subset("b", -1))
		ud.Namespace, ud.UID, ud.Generation = namespace.Name, "", 0
		ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1}}
		Expect(admin.Create(ctx, ud)).To(Succeed())
		shape := func() map[string]string {
			list := &appsv1beta1.StatefulSetList{}
			Expect(admin.List(ctx, list, client.InNamespace(ud.Namespace))).To(Succeed())
			out := map[string]string{}
			for i := range list.Items {
				n := advancedStatefulSetAdapter{}.read(&list.Items[i])
				out[list.Items[i].Labels[appsv1beta1.SubsetNameLabel]] = fmt.Sprintf("%d/%d %s", n.replicas, n.partition, list.Items[i].Spec.Template.Spec.Containers[0].Image)
			}
			return out
		}
		Eventually(shape).Should(Equal(map[string]string{"a": "2/1 web:v1", "b": "3/0 web:v1"}))
		quietFor(ctx)
		base := client.MergeFrom(ud.DeepCopy())
		ud.Spec.Template.AdvancedStatefulSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2"
		ud.Spec.Replicas = ptr.To[int32](6)
		Expect(admin.Patch(ctx, ud, base)).To(Succeed())
		Eventually(shape).Should(Equal(map[string]string{"a": "2/1 web:v2", "b": "4/0 web:v2"}))
		quietFor(ctx)
	})
})
