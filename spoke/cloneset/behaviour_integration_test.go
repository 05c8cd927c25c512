//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// asUsersWriteIt is a manifest of the older version.
const asUsersWriteIt = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: sample, labels: {app: sample}}
spec:
  replicas: 10
  selector: {matchLabels: {app: sample}}
  template:
    metadata: {labels: {app: sample}}
    spec:
      containers:
      - {name: main, image: "web:1"}
  updateStrategy:
    type: InPlaceIfPossible
    partition: 8
    maxUnavailable: 20%
`

var _ = Describe("a CloneSet", func() {
	var (
		ctx context.Context
		ns  string
		run *spoke
	)
	BeforeEach(func() {
		ctx = context.Background()
		ns = newNamespace(ctx)
		run = startSpoke(Options{})
		DeferCleanup(func() { run.stop() })
	})
	condition := func(set *appsv1beta1.CloneSet, kind string) func() *appsv1beta1.Condition {
		return func() *appsv1beta1.Condition {
			return conditions.FindCompat(status(ctx, set)().Conditions, kind)
		}
	}

	It("of the older version works as users write it", func() {
		var old appsv1alpha1.CloneSet
		Expect(yaml.UnmarshalStrict([]byte(asUsersWriteIt), &old)).To(Succeed())
		Expect(appsv1alpha1.AddToScheme(scheme)).To(Succeed())
		set := &appsv1beta1.CloneSet{}
		Expect(scheme.Convert(&old, set, nil)).To(Succeed())
		set.Namespace = ns
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		before := listPods(ctx, ns)
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(10, 2, 2))
		Consistently(func() map[string]int { return images(listPods(ctx, ns)) }, time.Second).Should(Equal(map[string]int{"web:1": 8, "web:2": 2}))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = nil })
		Eventually(status(ctx, set)).Should(haveCounts(10, 10, 10))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(uids(before)))
	})

	It("surges, never fewer available and never more in all than asked", func() {
		set := newSet(ns, 4, appsv1beta1.RecreatePodUpdateStrategyType)
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		rolling.MaxSurge, rolling.MaxUnavailable = ptr.To(intstr.FromInt32(2)), ptr.To(intstr.FromInt32(0))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(4, 4, 4))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(func(g Gomega) {
			active, ready := 0, 0
			for _, pod := range listPods(ctx, ns) {
				if pod.DeletionTimestamp != nil {
					continue
				}
				active++
				if isTrue(&pod, corev1.PodReady) {
					ready++
				}
			}
			if active > 6 || ready < 4 {
				StopTrying(fmt.Sprintf("%d pods, %d ready", active, ready)).Now()
			}
			g.Expect(status(ctx, set)()).To(haveCounts(4, 4, 4))
			g.Expect(images(listPods(ctx, ns))).To(Equal(map[string]int{"web:2": 4}))
		}).WithPolling(5 * time.Millisecond).Should(Succeed())
	})

	It("deletes the pods it is told to and trims their names", func() {
		set := newSet(ns, 3, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		victim := listPods(ctx, ns)[1]
		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Replicas = ptr.To[int32](2)
			s.Spec.ScaleStrategy.PodsToDelete = []string{victim.Name}
		})
		Eventually(func(g Gomega) {
			var got appsv1beta1.CloneSet
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), &got)).To(Succeed())
			g.Expect(got.Spec.ScaleStrategy.PodsToDelete).To(BeEmpty())
			g.Expect(got.Status).To(haveCounts(2, 2, 2))
		}).Should(Succeed())
		Expect(uids(listPods(ctx, ns))).NotTo(ContainElement(victim.UID))
	})

	It("tells a failure to create pods and forgets it when it is over", func() {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
		}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		set := newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(condition(set, appsv1beta1.CloneSetConditionFailedScale)).Should(HaveField("Message", ContainSubstring("exceeded quota")))
		Expect(admin.Delete(ctx, quota)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(condition(set, appsv1beta1.CloneSetConditionFailedScale)()).To(BeNil())
	})

	It("says what a rollout waits for", func() {
		set := newSet(ns, 2, appsv1beta1.InPlaceOnlyPodUpdateStrategyType)
		set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1))
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = badImage })
		Eventually(condition(set, appsv1beta1.CloneSetConditionWaiting)).Should(HaveField("Reason", "MaxUnavailableReached"))
		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			s.Spec.Template.Spec.Containers[0].Image = "web:1"
			s.Spec.Template.Spec.Containers[0].Command = []string{"x"}
		})
		Eventually(condition(set, appsv1beta1.CloneSetConditionWaiting)).Should(HaveField("Message", ContainSubstring("template.spec.containers.0.command changed")))
		Eventually(condition(set, appsv1beta1.CloneSetConditionFailedUpdate)).ShouldNot(BeNil())
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Command = nil })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Eventually(condition(set, appsv1beta1.CloneSetConditionWaiting)).Should(BeNil())
		Expect(condition(set, appsv1beta1.CloneSetConditionFailedUpdate)()).To(BeNil())
	})

	It("waits for its preNormal hook, held by a finalizer", func() {
		set := newSet(ns, 1, appsv1beta1.RecreatePodUpdateStrategyType)
		set.Spec.Lifecycle = &appsv1beta1.Lifecycle{PreNormal: &appsv1beta1.LifecycleHook{FinalizersHandler: []string{"example.com/normal"}}}
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(SatisfyAll(HaveField("ReadyReplicas", int32(1)), HaveField("AvailableReplicas", int32(0))))
		Eventually(condition(set, appsv1beta1.CloneSetConditionWaiting)).Should(HaveField("Message", ContainSubstring("finalizer example.com/normal")))
		pod := listPods(ctx, ns)[0]
		before := pod.DeepCopy()
		pod.Finalizers = []string{"example.com/normal"}
		Expect(admin.Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
	})

	It("lets pods go that no longer match", func() {
		set := newSet(ns, 2, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		pod := listPods(ctx, ns)[0]
		before := pod.DeepCopy()
		pod.Labels["app"] = "other"
		Expect(admin.Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
		Eventually(func() []corev1.Pod { return listPods(ctx, ns) }).Should(HaveLen(3))
		var got corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(&pod), &got)).To(Succeed())
		Expect(got.OwnerReferences).To(BeEmpty())
	})

	It("replaces dead pods and keeps few of them", func() {
		set := newSet(ns, 1, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		for range 6 {
			Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
			for _, pod := range listPods(ctx, ns) {
				if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
					before := pod.DeepCopy()
					pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
					Expect(client.IgnoreNotFound(admin.Status().Patch(ctx, &pod, client.MergeFrom(before)))).To(Succeed())
				}
			}
			Eventually(func() int { return int(status(ctx, set)().ReadyReplicas) }).Should(Equal(1))
		}
		Eventually(func() int { return len(listPods(ctx, ns)) }).Should(BeNumerically("<=", 1+keepFinished))
	})

	It("sends nothing but what it changes, so fields it does not know survive", func() {
		set := newSet(ns, 1, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
		pod := listPods(ctx, ns)[0]
		// An ephemeral container stands for what others add to a running pod.
		patch := `{"spec":{"ephemeralContainers":[{"name":"debug","image":"debug:1"}]}}`
		Expect(admin.SubResource("ephemeralcontainers").Patch(ctx, &pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch)))).To(Succeed())
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
		after := listPods(ctx, ns)[0]
		Expect(after.UID).To(Equal(pod.UID))
		Expect(after.Spec.EphemeralContainers).To(HaveLen(1))
		Expect(after.Spec.Containers[0].Image).To(Equal("web:2"))
	})

	It("writes every counter, zeros too", func() {
		set := newSet(ns, 0, appsv1beta1.RecreatePodUpdateStrategyType)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(func(g Gomega) {
			got := &unstructured.Unstructured{}
			got.SetGroupVersionKind(appsv1beta1.Kind("CloneSet"))
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), got)).To(Succeed())
			status, _, _ := unstructured.NestedMap(got.Object, "status")
			for _, counter := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas"} {
				g.Expect(status).To(HaveKeyWithValue(counter, BeEquivalentTo(0)))
			}
			g.Expect(status).To(HaveKeyWithValue("observedGeneration", BeEquivalentTo(got.GetGeneration())))
		}).Should(Succeed())
	})

	It("works under a name that makes its revisions' names too long for a label", func() {
		set := newSet(ns, 2, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		set.Name = strings.Repeat("w", 60)
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		before := listPods(ctx, ns)
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" })
		Eventually(status(ctx, set)).Should(haveCounts(2, 2, 2))
		Expect(uids(listPods(ctx, ns))).To(ConsistOf(uids(before)))
	})

	It("keeps the history within its limit and goes back to what it holds", func() {
		set := newSet(ns, 1, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType)
		set.Spec.RevisionHistoryLimit = ptr.To[int32](2)
		Expect(admin.Create(ctx, set)).To(Succeed())
		for i := 2; i <= 5; i++ {
			Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
			edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("web:", i) })
		}
		Eventually(status(ctx, set)).Should(haveCounts(1, 1, 1))
		list := historyOf(ctx, ns)
		Eventually(list).Should(HaveLen(3))
		last := status(ctx, set)().UpdateRevision
		edit(ctx, set, func(s *appsv1beta1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "web:4" })
		Eventually(status(ctx, set)).Should(SatisfyAll(haveCounts(1, 1, 1), Not(HaveField("UpdateRevision", last))))
		Expect(list()).To(HaveLen(3), "no new revision for one that is known")
		Expect(list()).To(HaveKeyWithValue(status(ctx, set)().UpdateRevision, BeNumerically("==", 6)))
	})
})

// historyOf returns the numbers of the revisions in a namespace, by name.
func historyOf(ctx context.Context, ns string) func() map[string]int64 {
	return func() map[string]int64 {
		GinkgoHelper()
		var list appsv1.ControllerRevisionList
		Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
		out := map[string]int64{}
		for i := range list.Items {
			out[list.Items[i].Name] = list.Items[i].Revision
		}
		return out
	}
}
