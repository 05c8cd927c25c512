// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// epoch is the moment of all tests.
var epoch = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// scheme knows what the controller reads and writes.
func scheme() *runtime.Scheme {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(out); err != nil {
			panic(err)
		}
	}
	return out
}

func subset(name string, replicas int32) appsv1beta1.Subset {
	out := appsv1beta1.Subset{Name: name, NodeSelectorTerm: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-" + name}},
	}}}
	if replicas >= 0 {
		out.Replicas = ptr.To(intstr.FromInt32(replicas))
	}
	return out
}

func podTemplate(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// cloneSetUD is a UnitedDeployment named web with a CloneSet template.
func cloneSetUD(replicas int32, subsets ...appsv1beta1.Subset) *appsv1beta1.UnitedDeployment {
	return &appsv1beta1.UnitedDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ud-uid", Generation: 3},
		Spec: appsv1beta1.UnitedDeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: appsv1beta1.SubsetTemplate{CloneSetTemplate: &appsv1beta1.CloneSetTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "team": "a"}, Annotations: map[string]string{"note": "n"}},
				Spec: appsv1beta1.CloneSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
					Template: podTemplate("web:v1"),
				},
			}},
			Topology:             appsv1beta1.Topology{Subsets: subsets},
			RevisionHistoryLimit: ptr.To[int32](10),
		},
	}
}

// deploymentUD is a UnitedDeployment named web with a Deployment template.
func deploymentUD(replicas int32, subsets ...appsv1beta1.Subset) *appsv1beta1.UnitedDeployment {
	ud := cloneSetUD(replicas, subsets...)
	ud.Spec.Template = appsv1beta1.SubsetTemplate{DeploymentTemplate: &appsv1beta1.DeploymentTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       appsv1.DeploymentSpec{Template: podTemplate("web:v1")},
	}}
	return ud
}

// atRest is what the snapshot shows of a subset that is as the UnitedDeployment wants it.
func atRest(ud *appsv1beta1.UnitedDeployment, subset string, size sizing) liveSubset {
	a := adapterOf(&ud.Spec.Template)
	for i := range ud.Spec.Topology.Subsets {
		if ud.Spec.Topology.Subsets[i].Name != subset {
			continue
		}
		obj, err := desired(ud, a, &ud.Spec.Topology.Subsets[i], "web-2", size)
		if err != nil {
			panic(err)
		}
		obj.SetName("web-" + subset + "-x")
		obj.SetUID(types.UID("uid-" + subset))
		return liveSubset{object: obj, subset: subset, numbers: a.read(obj)}
	}
	panic("no subset " + subset)
}

func snapshotOf(ud *appsv1beta1.UnitedDeployment, live ...liveSubset) *snapshot {
	return &snapshot{ud: ud, adapter: adapterOf(&ud.Spec.Template), current: "web-1", update: "web-2", live: live}
}
