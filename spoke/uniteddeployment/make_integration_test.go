// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package uniteddeployment

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func intOrString(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

// readyPod makes a ready pod of a CloneSet at a revision of the UnitedDeployment.
func readyPod(ctx context.Context, set *appsv1beta1.CloneSet, revision string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "p-", Namespace: set.Namespace,
			Labels:          overlay(set.Spec.Template.Labels, map[string]string{appsv1beta1.SubsetRevisionLabel: revision}),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, cloneSetAdapter{}.kind())},
		},
		Spec: set.Spec.Template.Spec,
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
	return pod
}

// twin is a workload of subset a, made by someone else.
func twin(ud *appsv1beta1.UnitedDeployment, name string, owned bool) *appsv1beta1.CloneSet {
	obj, _ := desired(ud, cloneSetAdapter{}, &ud.Spec.Topology.Subsets[0], "web-x", sizing{replicas: 1})
	set := obj.(*appsv1beta1.CloneSet)
	set.Name, set.GenerateName = name, ""
	if !owned {
		set.OwnerReferences = nil
	}
	return set
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
