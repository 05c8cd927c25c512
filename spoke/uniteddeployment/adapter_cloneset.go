// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

type cloneSetAdapter struct{}

func (cloneSetAdapter) kind() schema.GroupVersionKind {
	return appsv1beta1.SchemeGroupVersion.WithKind("CloneSet")
}

func (cloneSetAdapter) empty() (client.Object, client.ObjectList) {
	return &appsv1beta1.CloneSet{}, &appsv1beta1.CloneSetList{}
}

func (cloneSetAdapter) metadata(t *appsv1beta1.SubsetTemplate) *metav1.ObjectMeta {
	if t.CloneSetTemplate == nil {
		return nil
	}
	return &t.CloneSetTemplate.ObjectMeta
}

// read counts a partition that cannot be read as 0, so that it gets rewritten.
func (cloneSetAdapter) read(obj client.Object) numbers {
	set := obj.(*appsv1beta1.CloneSet)
	n := numbers{
		replicas:       ptr.Deref(set.Spec.Replicas, 1),
		statusReplicas: set.Status.Replicas,
		readyReplicas:  set.Status.ReadyReplicas,
		partitioned:    true,
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling != nil {
		n.maxUnavailable = rolling.MaxUnavailable
	}
	if rolling != nil && rolling.Partition != nil {
		if p, err := intstr.GetScaledValueFromIntOrPercent(rolling.Partition, int(n.replicas), true); err == nil {
			n.partition = int32(p)
		}
	}
	return n
}

func (cloneSetAdapter) template(obj client.Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1beta1.CloneSet).Spec.Template
}

func (a cloneSetAdapter) draft(t *appsv1beta1.SubsetTemplate, selector *metav1.LabelSelector, want sizing) (client.Object, *corev1.PodTemplateSpec) {
	set := &appsv1beta1.CloneSet{Spec: *t.CloneSetTemplate.Spec.DeepCopy()}
	set.SetGroupVersionKind(a.kind())
	set.Spec.Selector = selector
	set.Spec.Replicas = &want.replicas
	strategy := &set.Spec.UpdateStrategy
	if strategy.RollingUpdate == nil {
		strategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{}
	}
	strategy.RollingUpdate.Partition = ptr.To(intstr.FromInt32(want.partition))
	if want.maxUnavailable != nil {
		strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(*want.maxUnavailable))
	}
	return set, &set.Spec.Template
}
