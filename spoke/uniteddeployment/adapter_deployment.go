// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

type deploymentAdapter struct{}

func (deploymentAdapter) kind() schema.GroupVersionKind { return workload.Deployment }

func (deploymentAdapter) empty() (client.Object, client.ObjectList) {
	return &appsv1.Deployment{}, &appsv1.DeploymentList{}
}

func (deploymentAdapter) metadata(t *appsv1beta1.SubsetTemplate) *metav1.ObjectMeta {
	if t.DeploymentTemplate == nil {
		return nil
	}
	return &t.DeploymentTemplate.ObjectMeta
}

// read: a Deployment knows no partition, so none is compared or written.
func (deploymentAdapter) read(obj client.Object) numbers {
	d := obj.(*appsv1.Deployment)
	n := numbers{
		replicas:       ptr.Deref(d.Spec.Replicas, 1),
		statusReplicas: d.Status.Replicas,
		readyReplicas:  d.Status.ReadyReplicas,
	}
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		n.maxUnavailable = rolling.MaxUnavailable
	}
	return n
}

func (deploymentAdapter) template(obj client.Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.Deployment).Spec.Template
}

func (a deploymentAdapter) draft(t *appsv1beta1.SubsetTemplate, selector *metav1.LabelSelector, want sizing) (client.Object, *corev1.PodTemplateSpec) {
	d := &appsv1.Deployment{Spec: *t.DeploymentTemplate.Spec.DeepCopy()}
	d.SetGroupVersionKind(a.kind())
	d.Spec.Selector = selector
	d.Spec.Replicas = &want.replicas
	if strategy := &d.Spec.Strategy; want.maxUnavailable != nil && strategy.Type != appsv1.RecreateDeploymentStrategyType {
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
		}
		strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(*want.maxUnavailable))
	}
	return d, &d.Spec.Template
}
