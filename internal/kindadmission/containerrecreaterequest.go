// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// completeRequest checks a new request against its pod, and fills in what it leaves to the pod. Where there are no
// pods, it is left as it is.
func (f Facts) completeRequest(ctx context.Context, old, obj *appsv1beta1.ContainerRecreateRequest) error {
	if old != nil || f.Member == nil {
		return nil
	}
	pod, node, err := f.podOf(ctx, obj, validation.ValidateContainerRecreateRequest(nil, obj))
	if err != nil {
		return err
	}
	appsv1beta1.CompleteContainerRecreateRequest(obj, pod, node.Labels)
	return nil
}

// completeOldRequest is completeRequest for an object sent as v1alpha1.
func (f Facts) completeOldRequest(ctx context.Context, old, obj *appsv1alpha1.ContainerRecreateRequest) error {
	if old != nil || f.Member == nil {
		return nil
	}
	stored := &appsv1beta1.ContainerRecreateRequest{}
	if err := appsv1alpha1.Convert_v1alpha1_ContainerRecreateRequest_To_v1beta1_ContainerRecreateRequest(obj, stored, nil); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	pod, node, err := f.podOf(ctx, stored, validation.ValidateOldContainerRecreateRequest(nil, obj))
	if err != nil {
		return err
	}
	appsv1alpha1.CompleteContainerRecreateRequest(obj, pod, node.Labels)
	return nil
}

// podOf reads the pod of a request and its node, or says what is wrong with the request: problems found so
// far, else what keeps it from being carried out in that pod.
func (f Facts) podOf(ctx context.Context, obj *appsv1beta1.ContainerRecreateRequest, problems field.ErrorList) (*corev1.Pod, *corev1.Node, error) {
	refuse := func(problems field.ErrorList) error {
		return apierrors.NewInvalid(appsv1beta1.Kind("ContainerRecreateRequest").GroupKind(), obj.Name, problems)
	}
	if len(problems) > 0 {
		return nil, nil, refuse(problems)
	}
	pod, node, err := f.Member.Pod(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: obj.Spec.PodName})
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err) // our failure, not the request's
	}
	if problems := validation.ValidateContainerRecreateRequestPod(obj, pod); len(problems) > 0 {
		return nil, nil, refuse(problems)
	}
	if node == nil {
		return nil, nil, refuse(field.ErrorList{field.Invalid(field.NewPath("spec", "podName"), obj.Spec.PodName, "failed to get Node "+pod.Spec.NodeName+": there is none")})
	}
	return pod, node, nil
}
