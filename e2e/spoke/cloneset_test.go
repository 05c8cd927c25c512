// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// guestbook is a CloneSet as its users write it.
const guestbook = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: web, image: "web:v1"}
  updateStrategy:
    type: InPlaceIfPossible
    partition: 8
    maxUnavailable: 20%
`

func set(obj *unstructured.Unstructured, value any, path ...string) {
	GinkgoHelper()
	Expect(unstructured.SetNestedField(obj.Object, value, path...)).To(Succeed())
}

func apply(ctx context.Context, ns string, change ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(guestbook), &obj.Object)).To(Succeed())
	obj.SetNamespace(ns)
	for _, f := range change {
		f(obj)
	}
	Expect(member.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("user"), client.ForceOwnership)).To(Succeed())
}

func image(name string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		set(obj, []any{map[string]any{"name": "web", "image": name}}, "spec", "template", "spec", "containers")
	}
}

func partition(n int64) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { set(obj, n, "spec", "updateStrategy", "partition") }
}

// untilImages waits until the set has exactly these ready pods of each image, and no others.
func untilImages(ctx context.Context, ns string, v1, v2 int) []corev1.Pod {
	GinkgoHelper()
	var pods []corev1.Pod
	Eventually(ctx, func() (string, error) {
		var err error
		pods, err = member.Pods(ctx, ns, "web")
		return fmt.Sprintf("%d pods: %d at v1, %d at v2", len(pods), harness.CountReady(pods, "web:v1"), harness.CountReady(pods, "web:v2")), err
	}).Should(Equal(fmt.Sprintf("%d pods: %d at v1, %d at v2", v1+v2, v1, v2)))
	return pods
}

var _ = Describe("CloneSet", Label("cloneset", "workloads"), func() {
	It("updates a v1alpha1 object in place as far as its partition lets it", func(ctx SpecContext) {
		ns := namespace(ctx)
		apply(ctx, ns)
		before := harness.ByUID(untilImages(ctx, ns, 10, 0))
		for _, step := range []struct{ partition, updated int }{{8, 2}, {4, 6}, {0, 10}} {
			apply(ctx, ns, image("web:v2"), partition(int64(step.partition)))
			for uid := range harness.ByUID(untilImages(ctx, ns, 10-step.updated, step.updated)) {
				Expect(before).To(HaveKey(uid))
			}
		}
		for _, pod := range untilImages(ctx, ns, 0, 10) {
			Expect(pod.Status.ContainerStatuses[0].RestartCount).To(Equal(int32(1)), pod.Name)
		}
	}, SpecTimeout(4*time.Minute))

	It("recreates pods when more than the image changes", func(ctx SpecContext) {
		ns := namespace(ctx)
		apply(ctx, ns)
		before := harness.ByUID(untilImages(ctx, ns, 10, 0))
		apply(ctx, ns, partition(0), func(obj *unstructured.Unstructured) {
			set(obj, []any{map[string]any{"name": "web", "image": "web:v2", "args": []any{"--latency=1ms"}}}, "spec", "template", "spec", "containers")
		})
		for uid := range harness.ByUID(untilImages(ctx, ns, 0, 10)) {
			Expect(before).NotTo(HaveKey(uid))
		}
	}, SpecTimeout(4*time.Minute))

	It("replaces what fails, and keeps to two unavailable pods while it updates", func(ctx SpecContext) {
		ns := namespace(ctx)
		apply(ctx, ns)
		pods := untilImages(ctx, ns, 10, 0)
		Expect(member.Delete(ctx, &pods[0])).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			now, err := member.Pods(ctx, ns, "web")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(harness.ByUID(now)).NotTo(HaveKey(pods[0].UID))
		}).Should(Succeed())
		untilImages(ctx, ns, 10, 0)

		watch, err := member.WatchPods(ctx, ns, "web")
		Expect(err).NotTo(HaveOccurred())
		apply(ctx, ns, image("web:v2"), partition(0))
		untilImages(ctx, ns, 0, 10)
		Expect(watch.FewestReady()).To(BeNumerically(">=", 8), "ready pods at the worst moment")
	}, SpecTimeout(4*time.Minute))
})
