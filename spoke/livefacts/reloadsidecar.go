// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package livefacts

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// ReloadSidecar implements kindadmission.Member: the SidecarSet that the set names, with the labels of its
// namespace.
func (f Facts) ReloadSidecar(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (validation.ReloadSidecarFacts, error) {
	out := validation.ReloadSidecarFacts{ConfigMapOptional: true}
	config := obj.Spec.ReloadSidecarConfig
	if config == nil || config.Type != appsv1alpha1.ReloadSidecarTypeSidecarSet || config.Config == nil || config.Config.SidecarSetRef == nil {
		return out, nil
	}
	set, namespace := &appsv1beta1.SidecarSet{}, metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := f.Get(ctx, client.ObjectKey{Name: obj.Namespace}, &namespace); err != nil {
		return out, err
	}
	out.NamespaceLabels = namespace.Labels
	if err := f.Get(ctx, client.ObjectKey{Name: config.Config.SidecarSetRef.Name}, set); apierrors.IsNotFound(err) {
		return out, nil
	} else if err != nil {
		return out, err
	}
	out.SidecarSet = set
	return out, nil
}
