//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
)

// kubelets play scheduler and kubelets: each pod gets a node of its own and runs what its spec says.
type kubelets struct {
	namespace string
	nodes     []string

	mu sync.Mutex
	// cold are the nodes that started an image which they had not pulled ahead.
	cold map[string]bool
}

func startKubelets(ns string, nodes []string) *kubelets {
	k := &kubelets{namespace: ns, nodes: nodes, cold: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	DeferCleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for tick := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			var list corev1.PodList
			_ = admin.List(ctx, &list, client.InNamespace(ns)) // the next look tells
			for i := range list.Items {
				k.look(ctx, &list.Items[i])
			}
		}
	}()
	return k
}

func (k *kubelets) look(ctx context.Context, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		node := k.nodes[0]
		k.nodes = k.nodes[1:]
		_ = admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
		return
	}
	image, before := pod.Spec.Containers[0].Image, pod.DeepCopy()
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].Image != image {
		k.start(ctx, pod, image)
	}
	ready := corev1.ConditionTrue
	for _, gate := range pod.Spec.ReadinessGates {
		if !conditionIs(pod, gate.ConditionType, corev1.ConditionTrue) {
			ready = corev1.ConditionFalse
		}
	}
	if conditionIs(pod, corev1.PodReady, ready) && pod.Status.ContainerStatuses[0].Image == before.Status.ContainerStatuses[0].Image {
		return
	}
	kept := []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodReady {
			kept = append(kept, c)
		}
	}
	pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, kept
	_ = admin.Status().Patch(ctx, pod, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}))
}

func (k *kubelets) start(ctx context.Context, pod *corev1.Pod, image string) {
	var node appsv1beta1.NodeImage
	_ = admin.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &node)
	status := node.TagStatus("shop/web", image[len("shop/web:"):], 0)
	k.mu.Lock()
	k.cold[pod.Spec.NodeName+" "+image] = status == nil || status.Phase != appsv1beta1.ImagePhaseSucceeded
	k.mu.Unlock()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "web", Image: image, ImageID: "sha256:of-" + image, ContainerID: fmt.Sprintf("fake://%s-%s", pod.UID, image), Ready: true,
	}}
}

func conditionIs(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == status
		}
	}
	return false
}

// coldStarts returns how many nodes started the image, and how many of them had not pulled it ahead.
func (k *kubelets) coldStarts(image string) (started, cold int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, is := range k.cold {
		if key[len(key)-len(image):] == image {
			started++
			if is {
				cold++
			}
		}
	}
	return started, cold
}

var _ = Describe("gate PreDownloadImageForInPlaceUpdate", Label("integration"), func() {
	It("has the nodes of a CloneSet's pods pull what the next batches need, and no other nodes", func(ctx context.Context) {
		gate := string(features.PreDownloadImageForInPlaceUpdate)
		Expect(features.Gate.SetFromMap(map[string]bool{gate: true})).To(Succeed())
		DeferCleanup(func() { Expect(features.Gate.SetFromMap(map[string]bool{gate: false})).To(Succeed()) })
		startPulling(defaults,
			func(mgr manager.Manager) error { return addIndexes(mgr.GetFieldIndexer()) },
			func(mgr manager.Manager) error { return (*budgets)(nil).addCloneSet(mgr, &Options{}) })
		startAgents(200 * time.Millisecond)
		names := newNodes(ctx, "pre", 8, map[string]string{"pool": "pre"})
		ns := newPullNamespace(ctx)
		kubelets := startKubelets(ns, names[:5])
		set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
		set.Spec.Replicas, set.Spec.Selector = ptr.To[int32](5), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "shop/web:1"}}
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy: appsv1beta1.InPlaceOnlyPodUpdateStrategyType, Partition: ptr.To(intstr.FromInt32(4)), MaxUnavailable: ptr.To(intstr.FromString("100%")),
			InPlaceUpdateStrategy: &appsv1beta1.InPlaceUpdateStrategy{
				ImagePreDownloadMinUpdatedReadyPods: ptr.To[int32](1), ImagePreDownloadParallelism: ptr.To(intstr.FromInt32(5)),
			},
		}
		Expect(admin.Create(ctx, set)).To(Succeed())
		updated := func() int32 {
			var now appsv1beta1.CloneSet
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(set), &now)).To(Succeed())
			if now.Status.ObservedGeneration != now.Generation || now.Status.ReadyReplicas != 5 {
				return -1
			}
			return now.Status.UpdatedReadyReplicas
		}
		patch := func(body string) {
			GinkgoHelper()
			Expect(admin.Patch(ctx, set, client.RawPatch("application/merge-patch+json", []byte(body)))).To(Succeed())
		}
		jobs := func() []appsv1beta1.ImagePullJob {
			var list appsv1beta1.ImagePullJobList
			Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}
		Eventually(updated).Should(BeEquivalentTo(5))
		Expect(jobs()).To(BeEmpty())

		By("updating the first pod")
		patch(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"shop/web:2"}]}}}}`)
		Eventually(jobs).Should(ConsistOf(SatisfyAll(
			HaveField("Spec.Image", "shop/web:2"),
			HaveField("Status.Desired", int32(4)), HaveField("Status.Succeeded", int32(4)), HaveField("Status.CompletionTime", Not(BeNil())))))
		Expect(updated()).To(BeEquivalentTo(1))
		asked := 0
		for _, name := range names[:5] {
			asked += len(nodeNow(ctx, name).Spec.Images)
		}
		Expect(asked).To(Equal(4), "the node of the first pod has the image")
		for _, name := range names[5:] {
			Expect(nodeNow(ctx, name).Spec.Images).To(BeEmpty(), "no pod is there")
		}

		By("updating the others, which find their image there")
		patch(`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
		Eventually(updated).Should(BeEquivalentTo(5))
		started, cold := kubelets.coldStarts("shop/web:2")
		Expect([]int{started, cold}).To(Equal([]int{5, 1}), "the first alone pulled for itself")

		By("ending the rollout: the jobs go, and with them what nodes were asked for")
		Eventually(jobs).Should(BeEmpty())
		for _, name := range names {
			Eventually(func() int { return len(nodeNow(ctx, name).Spec.Images) }).Should(BeZero())
		}
	})
})
