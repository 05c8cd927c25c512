// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// atOnce is how many pods may be unavailable during an update, of all three.
const atOnce = "25%"

// contender does the work in one way.
type contender interface {
	// name in the table.
	name() string
	// agent is how the user agent of the program that does the work begins, process its name in the set; empty: this one.
	agent() string
	process() string
	// scale makes as many pods of an image as wanted; update gives all pods another one.
	scale(ctx context.Context, pods int) error
	update(ctx context.Context, image string) error
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers:                    []corev1.Container{{Name: "web", Image: "web:1", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
	}
}

// cloneSet is ours.
type cloneSet struct {
	client.Client
	namespace string
	policy    appsv1beta1.PodUpdateStrategyType
}

func (c *cloneSet) name() string {
	if c.policy == appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType {
		return "CloneSet, in place"
	}
	return "CloneSet, recreated"
}
func (*cloneSet) agent() string   { return "flotilla-spoke" }
func (*cloneSet) process() string { return "member-1-flotilla-spoke" }

func (c *cloneSet) scale(ctx context.Context, pods int) error {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "web"}}
	set.Spec = appsv1beta1.CloneSetSpec{
		Replicas: ptr.To(int32(pods)), Template: template(), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		UpdateStrategy: appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{
			PodUpdatePolicy: c.policy, MaxUnavailable: ptr.To(intstr.FromString(atOnce)),
		}},
	}
	return c.Create(ctx, set)
}

func (c *cloneSet) update(ctx context.Context, image string) error {
	set := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "web"}}
	return c.Patch(ctx, set, imagePatch(image))
}

// deployment is kube-controller-manager's.
type deployment struct {
	client.Client
	namespace string
}

func (*deployment) name() string    { return "Deployment" }
func (*deployment) agent() string   { return "kube-controller-manager" }
func (*deployment) process() string { return "member-1-kube-controller-manager" }

func (d *deployment) scale(ctx context.Context, pods int) error {
	return d.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(pods)), Template: template(), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromString(atOnce)), MaxSurge: ptr.To(intstr.FromInt32(0)),
			}},
		},
	})
}

func (d *deployment) update(ctx context.Context, image string) error {
	return d.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "web"}}, imagePatch(image))
}

func imagePatch(image string) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q,"imagePullPolicy":"IfNotPresent"}]}}}}`, image))
}
