// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package livefacts

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Templates reads the pod and claim templates of a workload; nothing where there is none, or of no known kind.
func (f Facts) Templates(ctx context.Context, namespace string, ref *appsv1beta1.TargetReference) (*corev1.PodTemplateSpec, []corev1.PersistentVolumeClaim, error) {
	var workload client.Object
	switch schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		workload = &appsv1.Deployment{}
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
		workload = &appsv1.ReplicaSet{}
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		workload = &appsv1.StatefulSet{}
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		workload = &batchv1.Job{}
	case schema.GroupKind{Group: appsv1beta1.GroupName, Kind: "CloneSet"}:
		workload = &appsv1beta1.CloneSet{}
	case schema.GroupKind{Group: appsv1beta1.GroupName, Kind: "StatefulSet"}:
		workload = &appsv1beta1.StatefulSet{}
	default:
		return nil, nil, nil
	}
	if err := f.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, workload); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	template, claims := templatesIn(workload)
	return template, claims, nil
}

func templatesIn(workload client.Object) (*corev1.PodTemplateSpec, []corev1.PersistentVolumeClaim) {
	switch w := workload.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template, nil
	case *appsv1.ReplicaSet:
		return &w.Spec.Template, nil
	case *appsv1.StatefulSet:
		return &w.Spec.Template, w.Spec.VolumeClaimTemplates
	case *batchv1.Job:
		return &w.Spec.Template, nil
	case *appsv1beta1.CloneSet:
		return &w.Spec.Template, w.Spec.VolumeClaimTemplates
	case *appsv1beta1.StatefulSet:
		return &w.Spec.Template, w.Spec.VolumeClaimTemplates
	default:
		return nil, nil
	}
}
