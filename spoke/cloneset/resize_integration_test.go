//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("resources of a template", func() {
	It("are given to the running pods, in two writes, or four with an image", func() {
		ctx := context.Background()
		ns := newNamespace(ctx)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}} // the API server looks what it has
		Expect(admin.Create(ctx, node)).To(Succeed())
		node.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("100")}
		Expect(admin.Status().Update(ctx, node)).To(Succeed())
		DeferCleanup(func() { Expect(admin.Delete(ctx, node)).To(Succeed()) })
		run := startSpoke(Options{VerticalScaling: true})
		DeferCleanup(run.stop)
		set := newSet(ns, 3, appsv1beta1.InPlaceOnlyPodUpdateStrategyType)
		main := &set.Spec.Template.Spec.Containers[0]
		main.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("100m")} // the API server makes requests of them
		Expect(admin.Create(ctx, set)).To(Succeed())
		Eventually(status(ctx, set)).Should(haveCounts(3, 3, 3))
		before := uids(listPods(ctx, ns))

		for _, step := range []struct {
			cpu, image string
			writes     int
		}{{"200m", "web:1", 2}, {"300m", "web:2", 4}} {
			since := time.Now()
			edit(ctx, set, func(s *appsv1beta1.CloneSet) {
				main := &s.Spec.Template.Spec.Containers[0]
				main.Resources.Limits["cpu"], main.Image = resource.MustParse(step.cpu), step.image
			})
			Eventually(status(ctx, set)).Should(SatisfyAll(haveCounts(3, 3, 3), HaveField("ObservedGeneration", set.Generation)))
			pods := listPods(ctx, ns)
			Expect(uids(pods)).To(ConsistOf(before))
			for i := range pods {
				main := &pods[i].Spec.Containers[0]
				Expect(main.Resources.Limits.Cpu().String()).To(Equal(step.cpu))
				Expect(main.Resources.Requests.Cpu().String()).To(Equal(step.cpu))
				Expect(main.Image).To(Equal(step.image))
			}
			Expect(len(podWrites(since))).To(BeNumerically("<=", 3*step.writes), "%v", podWrites(since))
		}

		By("a size that no node has takes no pod out of service, though the image changes as well")
		edit(ctx, set, func(s *appsv1beta1.CloneSet) {
			main := &s.Spec.Template.Spec.Containers[0]
			main.Resources.Limits["cpu"], main.Image = resource.MustParse("999"), "web:3"
		})
		Eventually(status(ctx, set)).Should(HaveField("Conditions", ContainElement(SatisfyAll(
			HaveField("Type", appsv1beta1.CloneSetConditionFailedUpdate), HaveField("Message", ContainSubstring("allocatable"))))))
		for _, pod := range listPods(ctx, ns) {
			Expect(isTrue(&pod, corev1.PodReady)).To(BeTrue())
		}
	})
})
