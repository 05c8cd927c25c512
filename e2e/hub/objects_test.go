// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const imageV1, imageV2 = "web:v1", "web:v2"

// web is a UnitedDeployment over zones a and b.
func web(ns string, replicas int32) *appsv1beta1.UnitedDeployment {
	labels := map[string]string{"app": "web"}
	zone := func(name string) appsv1beta1.Subset {
		return appsv1beta1.Subset{Name: "zone-" + name, NodeSelectorTerm: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: harness.ZoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}},
		}}
	}
	return &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: cloneSetSpec(labels),
			}},
			Topology: appsv1beta1.Topology{Subsets: []appsv1beta1.Subset{zone("a"), zone("b")}},
		},
	}
}

func cloneSetSpec(labels map[string]string) appsv1beta1.CloneSetSpec {
	return appsv1beta1.CloneSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{
			Type: appsv1beta1.CloneSetRollingUpdateStrategyType,
			RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
				PodUpdatePolicy: appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType, MaxUnavailable: ptr.To(intstr.FromString("50%")),
			},
		},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To(int64(1)),
				Containers:                    []corev1.Container{{Name: "web", Image: imageV1}},
			},
		},
	}
}

func placement(ns string, change ...func(*fleetv1alpha1.FleetPlacementSpec)) *fleetv1alpha1.FleetPlacement {
	p := &fleetv1alpha1.FleetPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: fleetv1alpha1.FleetPlacementSpec{
			TargetRef:    fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web"},
			ClusterNames: clusterNames(),
		},
	}
	for _, f := range change {
		f(&p.Spec)
	}
	return p
}
