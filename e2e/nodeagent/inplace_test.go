// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const replicas = 6

// web has two containers, of which only the first will change.
func web(ns string) *appsv1beta1.UnitedDeployment {
	labels := map[string]string{"app": "web"}
	subset := func(zone string) appsv1beta1.Subset {
		return appsv1beta1.Subset{Name: "zone-" + zone, NodeSelectorTerm: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: harness.ZoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(5)),
			Containers: []corev1.Container{
				{Name: "web", Image: "web:v1", ReadinessProbe: &corev1.Probe{
					PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(8080)}},
				}},
				{Name: "beside", Image: "sleeper:v1"},
			},
		},
	}
	return &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: ptr.To(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: appsv1beta1.CloneSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template,
					UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
						PodUpdatePolicy: appsv1beta1.InPlaceOnlyPodUpdateStrategyType,
					}},
				},
			}},
			Topology: appsv1beta1.Topology{Subsets: []appsv1beta1.Subset{subset("a"), subset("b")}},
		},
	}
}

// observe waits until all pods are ready with the image and reads them from API and CRI.
func observe(ctx context.Context, ns, image string) map[string]record {
	GinkgoHelper()
	out := map[string]record{}
	Eventually(ctx, func(g Gomega) {
		clear(out)
		for _, member := range fleet.Members {
			pods, err := member.Pods(ctx, ns, "web")
			g.Expect(err).NotTo(HaveOccurred())
			for i := range pods {
				g.Expect(harness.Ready(&pods[i], image)).To(BeTrue(), pods[i].Name)
				out[string(pods[i].UID)] = recordOf(ctx, g, &pods[i])
			}
		}
		g.Expect(out).To(HaveLen(replicas))
	}).Should(Succeed())
	return out
}

var _ = Describe("On real nodes", Label("hub", "uniteddeployment", "nodeagent"), Serial, func() {
	It("an image change restarts one container of each pod, and nothing else", func(ctx SpecContext) {
		ns := namespace(ctx)
		ud := web(ns)
		Expect(fleet.Hub.Create(ctx, ud)).To(Succeed())
		Expect(fleet.Hub.Create(ctx, &fleetv1alpha1.FleetPlacement{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec: fleetv1alpha1.FleetPlacementSpec{
				TargetRef:       fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web"},
				ClusterSelector: &metav1.LabelSelector{},
			},
		})).To(Succeed())
		before := observe(ctx, ns, "web:v1")

		patch := client.MergeFrom(ud.DeepCopy())
		ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = "web:v2"
		Expect(fleet.Hub.Patch(ctx, ud, patch)).To(Succeed())
		after := observe(ctx, ns, "web:v2")

		for uid, now := range after {
			then, ok := before[uid]
			Expect(ok).To(BeTrue(), "pod %s is new", uid)
			Expect([]string{now.node, now.ip}).To(Equal([]string{then.node, then.ip}))
			Expect(now.running["web"]).NotTo(Equal(then.running["web"]), "web runs in a new container")
			Expect(now.attempts["web"]).To(Equal(then.attempts["web"] + 1))
			Expect(now.running["beside"]).To(Equal(then.running["beside"]), "beside was left alone")
			Expect(fmt.Sprint(now.attempts["beside"])).To(Equal(fmt.Sprint(then.attempts["beside"])))
		}
	}, SpecTimeout(40*time.Minute))
})
