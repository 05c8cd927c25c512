// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package livefacts

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// What Facts reads.
//
// +kubebuilder:rbac:groups="",resources=configmaps;namespaces;nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list
// +kubebuilder:rbac:groups="",namespace=flotilla-system,resources=configmaps;secrets,verbs=create
// +kubebuilder:rbac:groups=apps,namespace=flotilla-system,resources=controllerrevisions,verbs=list
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets,verbs=get
// +kubebuilder:rbac:groups=apps.kruise.io,resources=clonesets;sidecarsets,verbs=get
// +kubebuilder:rbac:groups=apps;apps.kruise.io,resources=statefulsets,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list

// Facts implements kindadmission.Member.
type Facts struct {
	client.Reader
	// Dry creates nothing: it asks the API server what it would say.
	Dry client.Writer
	// Namespace is our own: revisions of SidecarSets are in it, and objects are tried out in it.
	Namespace string
}

// TryOut implements kindadmission.Member.
func (f Facts) TryOut(ctx context.Context, obj *unstructured.Unstructured) error {
	object := obj.DeepCopy()
	object.SetNamespace(f.Namespace)
	return f.Dry.Create(ctx, object, client.DryRunAll)
}

// Pod implements kindadmission.Member.
func (f Facts) Pod(ctx context.Context, key client.ObjectKey) (*corev1.Pod, *corev1.Node, error) {
	pod := &corev1.Pod{}
	if err := f.Get(ctx, key, pod); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	if pod.Spec.NodeName == "" {
		return pod, nil, nil
	}
	node := &corev1.Node{}
	if err := f.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); err != nil {
		return pod, nil, client.IgnoreNotFound(err)
	}
	return pod, node, nil
}

// StorageClasses implements kindadmission.Member.
func (f Facts) StorageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	classes := storagev1.StorageClassList{}
	err := f.List(ctx, &classes)
	return classes.Items, err
}

// SidecarSetRevisions implements kindadmission.Member.
func (f Facts) SidecarSetRevisions(ctx context.Context, name string) ([]validation.SidecarSetRevision, error) {
	revisions := appsv1.ControllerRevisionList{}
	if err := f.List(ctx, &revisions, client.InNamespace(f.Namespace), client.MatchingLabels{appsv1beta1.SidecarSetNameLabel: name}); err != nil {
		return nil, err
	}
	var out []validation.SidecarSetRevision
	for i := range revisions.Items {
		out = append(out, validation.SidecarSetRevision{
			Name: revisions.Items[i].Name, CustomVersion: revisions.Items[i].Labels[appsv1beta1.SidecarSetCustomVersionLabel],
		})
	}
	return out, nil
}
