// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/setup"
)

// badImage is the row of spec 4.9: of two pods, of which one may be unavailable, one stays as it is until the image is
// put right. The CloneSet itself would let both go.
func badImage(way appsv1beta1.PodUpdateStrategyType) func(*guarded, string) {
	return func(g *guarded, ns string) {
		b := g.budget(ns, "50%")
		set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: appsv1beta1.CloneSetSpec{
			Replicas: ptr.To[int32](2), Selector: b.Spec.Selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: b.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{
				NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "web:1"}},
			}},
			UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: way, MaxUnavailable: ptr.To(intstr.FromString("100%")),
			}},
		}}
		kubelet := g.kubelet(ns)
		defer kubelet()
		g.must(g.admin.Create(g.Context(), set))
		g.counted(b, 1, 2, 1, 2)
		since := time.Now()
		g.image(set, "web:bad")
		g.await("one pod has the bad image, and the set says what it waits for", func(ctx context.Context) error {
			if images := g.images(ctx, ns); images != "web:1 web:bad" {
				return errors.New(images)
			}
			return g.waits(ctx, set, "PodUnavailableBudget web: no more pods may be unavailable")
		})
		for range 30 { // for 15 seconds, more than entries last
			time.Sleep(500 * time.Millisecond) // nothing is to happen, which cannot be awaited
			if images := g.images(g.Context(), ns); !strings.Contains(images, "web:1") {
				g.Fatalf("the images are %s", images)
			}
		}
		booked := 0
		for _, w := range g.server.Writes(g, "flotilla-spoke", since) {
			if w.Resource == "podunavailablebudgets/status" && w.Namespace == ns {
				booked++
			}
		}
		if booked > 5 { // one to let the pod go, some as it goes and comes, none while the set asks in vain
			g.Errorf("the books were written %d times", booked)
		}
		g.image(set, "web:2")
		g.await("both have the good image", func(ctx context.Context) error {
			if images := g.images(ctx, ns); images != "web:2 web:2" {
				return errors.New(images)
			}
			return nil
		})
		g.counted(b, 1, 2, 1, 2)
		g.must(g.admin.Delete(g.Context(), set))
	}
}

func (g *guarded) image(set *appsv1beta1.CloneSet, image string) {
	g.Helper()
	body := fmt.Sprintf(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":%q}]`, image)
	g.must(g.admin.Patch(g.Context(), set, client.RawPatch(types.JSONPatchType, []byte(body))))
}

func (g *guarded) waits(ctx context.Context, set *appsv1beta1.CloneSet, text string) error {
	if err := g.admin.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return err
	}
	for _, c := range set.Status.Conditions {
		if c.Type == appsv1beta1.CloneSetConditionWaiting && strings.Contains(c.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("its conditions are %+v", set.Status.Conditions)
}

// images are those of the pods that are not on their way out, in order.
func (g *guarded) images(ctx context.Context, ns string) string {
	var list corev1.PodList
	if err := g.admin.List(ctx, &list, client.InNamespace(ns)); err != nil {
		return err.Error()
	}
	var out []string
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			out = append(out, list.Items[i].Spec.Containers[0].Image)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// kubelet runs the pods of a namespace until it is stopped. An image called bad is never ready.
func (g *guarded) kubelet(ns string) (stop func()) {
	ctx, cancel := context.WithCancel(g.Context())
	done := make(chan struct{})
	node, err := client.New(g.server.ConfigFor("kubelet"), client.Options{Scheme: setup.Scheme()})
	g.must(err)
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			var list corev1.PodList
			if err := node.List(ctx, &list, client.InNamespace(ns)); err != nil {
				return false, nil
			}
			for i := range list.Items {
				runPod(ctx, node, &list.Items[i])
			}
			return false, nil
		})
	}()
	return func() { cancel(); <-done }
}

func runPod(ctx context.Context, node client.Client, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		_ = node.Delete(ctx, pod, client.GracePeriodSeconds(0))
		return
	}
	before, image := pod.DeepCopy(), pod.Spec.Containers[0].Image
	ready := !strings.HasSuffix(image, "bad")
	condition := func(kind corev1.PodConditionType) corev1.ConditionStatus {
		for _, c := range pod.Status.Conditions {
			if c.Type == kind {
				return c.Status
			}
		}
		return ""
	}
	for _, gate := range pod.Spec.ReadinessGates {
		ready = ready && condition(gate.ConditionType) == corev1.ConditionTrue
	}
	want := corev1.ConditionFalse
	if ready {
		want = corev1.ConditionTrue
	}
	if pod.Status.Phase == corev1.PodRunning && condition(corev1.PodReady) == want && pod.Status.ContainerStatuses[0].Image == image {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: image, ImageID: "sha256:" + image, ContainerID: "fake://" + image, Ready: ready}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: want, LastTransitionTime: metav1.Now()}}
	_ = node.Status().Patch(ctx, pod, client.StrategicMergeFrom(before))
}
