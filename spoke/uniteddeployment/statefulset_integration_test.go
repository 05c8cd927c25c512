// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package uniteddeployment

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var _ = Describe("UnitedDeployment of StatefulSets", func() {
	It("sizes and updates them, rests, and deletes pods that an update would wait for", func(ctx context.Context) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ud-"}}
		Expect(admin.Create(ctx, namespace)).To(Succeed())
		DeferCleanup(start(server.ConfigFor(agent)))
		ud := statefulSetUD(5, subset("a", 2), subset("b", -1))
		ud.Namespace, ud.UID, ud.Generation = namespace.Name, "", 0
		ud.Spec.Template.StatefulSetTemplate.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}}
		Expect(admin.Create(ctx, ud)).To(Succeed())
		sets := func() map[string]appsv1.StatefulSet {
			list := &appsv1.StatefulSetList{}
			Expect(admin.List(ctx, list, client.InNamespace(ud.Namespace))).To(Succeed())
			out := map[string]appsv1.StatefulSet{}
			for _, set := range list.Items {
				out[set.Labels[appsv1beta1.SubsetNameLabel]] = set
			}
			return out
		}
		shape := func() map[string]string {
			out := map[string]string{}
			for name, set := range sets() {
				n := statefulSetAdapter{}.read(&set)
				out[name] = fmt.Sprintf("%d/%d %s", n.replicas, n.partition, set.Spec.Template.Spec.Containers[0].Image)
			}
			return out
		}
		edit := func(change func(*appsv1beta1.UnitedDeploymentSpec)) {
			GinkgoHelper()
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(ud), ud)).To(Succeed())
			base := client.MergeFrom(ud.DeepCopy())
			change(&ud.Spec)
			Expect(admin.Patch(ctx, ud, base)).To(Succeed())
		}
		rests := func() {
			GinkgoHelper()
			Eventually(func() int64 {
				Expect(admin.Get(ctx, client.ObjectKeyFromObject(ud), ud)).To(Succeed())
				return ud.Status.ObservedGeneration - ud.Generation
			}).Should(BeZero())
			since := time.Now()
			Consistently(func() any { return server.Writes(GinkgoTB(), agent, since) }, rest60, 500*time.Millisecond).Should(BeEmpty())
		}
		Eventually(shape).Should(Equal(map[string]string{"a": "2/0 web:v1", "b": "3/0 web:v1"}))
		rests()

		By("a new template, with partitions")
		edit(func(spec *appsv1beta1.UnitedDeploymentSpec) {
			spec.Template.StatefulSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2"
			spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: map[string]int32{"a": 1}}
		})
		Eventually(shape).Should(Equal(map[string]string{"a": "2/1 web:v2", "b": "3/0 web:v2"}))
		rests()

		By("pods of the old revision that never got ready")
		a := sets()["a"]
		for i := range 2 {
			Expect(admin.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: ud.Namespace, Name: fmt.Sprintf("%s-%d", a.Name, i),
					Labels:          overlay(a.Spec.Template.Labels, map[string]string{appsv1beta1.SubsetRevisionLabel: "web-old"}),
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&a, statefulSetAdapter{}.kind())},
				},
				Spec: corev1.PodSpec{Containers: a.Spec.Template.Spec.Containers},
			})).To(Succeed())
		}
		Eventually(func() []string {
			list := &corev1.PodList{}
			Expect(admin.List(ctx, list, client.InNamespace(ud.Namespace))).To(Succeed())
			var names []string
			for i := range list.Items {
				if list.Items[i].DeletionTimestamp == nil {
					names = append(names, list.Items[i].Name)
				}
			}
			return names
		}).Should(ConsistOf(a.Name + "-0")) // within the partition
	})
})
