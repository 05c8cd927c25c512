// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// united makes UnitedDeployment web with one subset that may go anywhere.
func (w *world) united(replicas int32) *appsv1beta1.UnitedDeployment {
	labels := map[string]string{"app": "web"}
	return &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Topology: appsv1beta1.Topology{Subsets: []appsv1beta1.Subset{{Name: "any"}}},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: appsv1beta1.CloneSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: labels},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
					},
				},
			}},
		},
	}
}

// placed makes FleetPlacement web that names all clusters of the world.
func (w *world) placed(change ...func(*fleetv1alpha1.FleetPlacementSpec)) *fleetv1alpha1.FleetPlacement {
	p := &fleetv1alpha1.FleetPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"},
		Spec: fleetv1alpha1.FleetPlacementSpec{
			TargetRef:    fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web"},
			ClusterNames: w.clusters,
		},
	}
	for _, c := range change {
		c(&p.Spec)
	}
	return p
}

// start makes the workload and the placement, and waits until all is settled.
func (w *world) start(ctx context.Context, replicas int32, change ...func(*fleetv1alpha1.FleetPlacementSpec)) {
	GinkgoHelper()
	Expect(admin.Create(ctx, w.united(replicas))).To(Succeed())
	Expect(admin.Create(ctx, w.placed(change...))).To(Succeed())
	w.settled(ctx, replicas)
}

func setReplicas(n int32) func(*appsv1beta1.UnitedDeployment) {
	return func(ud *appsv1beta1.UnitedDeployment) { ud.Spec.Replicas = &n }
}

func setImage(image string) func(*appsv1beta1.UnitedDeployment) {
	return func(ud *appsv1beta1.UnitedDeployment) {
		ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = image
	}
}

// bySelector selects the world's clusters by label instead of by name.
func (w *world) bySelector(s *fleetv1alpha1.FleetPlacementSpec) {
	s.ClusterNames = nil
	s.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"world": w.ns}}
}

// byPlacement takes the clusters from OCM's Placement "prod".
func byPlacement(s *fleetv1alpha1.FleetPlacementSpec) {
	s.ClusterNames = nil
	s.PlacementRef = &fleetv1alpha1.PlacementReference{Name: "prod"}
}
