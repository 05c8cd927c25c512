// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// Member answers what only the cluster that runs the pods knows. An error means that it could not be found out.
type Member interface {
	MemberWorkloads
	MemberSidecars
	// TryOut says what the API server would say to the creation of an object in our own namespace, whatever
	// namespace the object names. Nothing is created.
	TryOut(ctx context.Context, obj *unstructured.Unstructured) error
}

// MemberWorkloads are answers about pods and what makes them.
type MemberWorkloads interface {
	// Pod and its node; nil where there is none.
	Pod(ctx context.Context, key client.ObjectKey) (*corev1.Pod, *corev1.Node, error)
	// Templates of the pods and claims of a workload; nil where there is none, or of no known kind.
	Templates(ctx context.Context, namespace string, ref *appsv1beta1.TargetReference) (*corev1.PodTemplateSpec, []corev1.PersistentVolumeClaim, error)
	// StorageClasses are all there are.
	StorageClasses(ctx context.Context) ([]storagev1.StorageClass, error)
}

// MemberSidecars are answers about what is put into pods.
type MemberSidecars interface {
	// SidecarSetRevisions are the revisions of a SidecarSet.
	SidecarSetRevisions(ctx context.Context, name string) ([]validation.SidecarSetRevision, error)
	// ConfigMapSetHistory is what is known of the revisions of a ConfigMapSet and of the pods that use them.
	ConfigMapSetHistory(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (validation.ConfigMapSetHistory, error)
	// ReloadSidecar is what the reload sidecar of a ConfigMapSet, filled with its defaults, is taken from.
	ReloadSidecar(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (validation.ReloadSidecarFacts, error)
}
