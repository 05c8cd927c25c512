// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// advancedStatefulSetAdapter is of Advanced StatefulSets. It only writes the objects: their pods are their controller's.
type advancedStatefulSetAdapter struct{}

func (advancedStatefulSetAdapter) kind() schema.GroupVersionKind {
	return appsv1beta1.SchemeGroupVersion.WithKind("StatefulSet")
}

func (advancedStatefulSetAdapter) empty() (client.Object, client.ObjectList) {
	return &appsv1beta1.StatefulSet{}, &appsv1beta1.StatefulSetList{}
}

func (advancedStatefulSetAdapter) metadata(t *appsv1beta1.SubsetTemplate) *metav1.ObjectMeta {
	if t.AdvancedStatefulSetTemplate == nil {
		return nil
	}
	return &t.AdvancedStatefulSetTemplate.ObjectMeta
}

// read: with OnDelete there is no partition, so none is compared or written.
func (advancedStatefulSetAdapter) read(obj client.Object) numbers {
	set := obj.(*appsv1beta1.StatefulSet)
	n := numbers{
		replicas:       ptr.Deref(set.Spec.Replicas, 1),
		statusReplicas: set.Status.Replicas,
		readyReplicas:  set.Status.ReadyReplicas,
		partitioned:    set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType,
	}
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; n.partitioned && rolling != nil {
		n.partition = ptr.Deref(rolling.Partition, 0)
	}
	return n
}

func (advancedStatefulSetAdapter) template(obj client.Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1beta1.StatefulSet).Spec.Template
}

func (a advancedStatefulSetAdapter) draft(t *appsv1beta1.SubsetTemplate, selector *metav1.LabelSelector, want sizing) (client.Object, *corev1.PodTemplateSpec) {
	set := &appsv1beta1.StatefulSet{Spec: *t.AdvancedStatefulSetTemplate.Spec.DeepCopy()}
	set.SetGroupVersionKind(a.kind())
	set.Spec.Selector = selector
	set.Spec.Replicas = &want.replicas
	if strategy := &set.Spec.UpdateStrategy; strategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &appsv1beta1.RollingUpdateStatefulSetStrategy{}
		}
		strategy.RollingUpdate.Partition = &want.partition
	}
	return set, &set.Spec.Template
}
