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

// statefulSetAdapter is of the StatefulSets of Kubernetes.
type statefulSetAdapter struct{}

func (statefulSetAdapter) kind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
}

func (statefulSetAdapter) empty() (client.Object, client.ObjectList) {
	return &appsv1.StatefulSet{}, &appsv1.StatefulSetList{}
}

func (statefulSetAdapter) metadata(t *appsv1beta1.SubsetTemplate) *metav1.ObjectMeta {
	if t.StatefulSetTemplate == nil {
		return nil
	}
	return &t.StatefulSetTemplate.ObjectMeta
}

// read: with OnDelete there is no partition, so none is compared or written.
func (statefulSetAdapter) read(obj client.Object) numbers {
	set := obj.(*appsv1.StatefulSet)
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

func (statefulSetAdapter) template(obj client.Object) *corev1.PodTemplateSpec {
	return &obj.(*appsv1.StatefulSet).Spec.Template
}

func (a statefulSetAdapter) draft(t *appsv1beta1.SubsetTemplate, selector *metav1.LabelSelector, want sizing) (client.Object, *corev1.PodTemplateSpec) {
	set := &appsv1.StatefulSet{Spec: *t.StatefulSetTemplate.Spec.DeepCopy()}
	set.SetGroupVersionKind(a.kind())
	set.Spec.Selector = selector
	set.Spec.Replicas = &want.replicas
	if strategy := &set.Spec.UpdateStrategy; strategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if strategy.RollingUpdate == nil {
			strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		strategy.RollingUpdate.Partition = &want.partition
	}
	return set, &set.Spec.Template
}
