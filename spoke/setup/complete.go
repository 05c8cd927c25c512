// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// completeRequest checks a new request against its pod, and fills in what it leaves to the pod.
func (f facts) completeRequest(ctx context.Context, old, obj *appsv1beta1.ContainerRecreateRequest) error {
	if old != nil {
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
func (f facts) completeOldRequest(ctx context.Context, old, obj *appsv1alpha1.ContainerRecreateRequest) error {
	if old != nil {
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
func (f facts) podOf(ctx context.Context, obj *appsv1beta1.ContainerRecreateRequest, problems field.ErrorList) (*corev1.Pod, *corev1.Node, error) {
	refuse := func(problems field.ErrorList) error {
		return apierrors.NewInvalid(appsv1beta1.Kind("ContainerRecreateRequest").GroupKind(), obj.Name, problems)
	}
	if len(problems) > 0 {
		return nil, nil, refuse(problems)
	}
	pod := &corev1.Pod{}
	if err := f.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: obj.Spec.PodName}, pod); apierrors.IsNotFound(err) {
		pod = nil
	} else if err != nil {
		return nil, nil, err
	}
	if problems := validation.ValidateContainerRecreateRequestPod(obj, pod); len(problems) > 0 {
		return nil, nil, refuse(problems)
	}
	node := &corev1.Node{}
	if err := f.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); apierrors.IsNotFound(err) {
		return nil, nil, refuse(field.ErrorList{field.Invalid(field.NewPath("spec", "podName"), obj.Spec.PodName, "failed to get Node "+pod.Spec.NodeName+": there is none")})
	} else if err != nil {
		return nil, nil, err
	}
	return pod, node, nil
}

// configMapSet checks a ConfigMapSet for itself, then its sidecar and its peers.
func (f facts) configMapSet(ctx context.Context, old, obj *appsv1alpha1.ConfigMapSet) (field.ErrorList, error) {
	problems := validation.ValidateConfigMapSet(old, obj)
	if len(problems) > 0 || (old != nil && equality.Semantic.DeepEqual(old.Spec, obj.Spec)) {
		return problems, nil
	}
	if problems, err := f.reloadSidecar(ctx, obj); err != nil || len(problems) > 0 {
		return problems, err
	}
	sets := appsv1alpha1.ConfigMapSetList{}
	if err := f.List(ctx, &sets, client.InNamespace(obj.Namespace)); err != nil {
		return nil, err
	}
	var peers []validation.ConfigMapSetPeer
	for i := range sets.Items {
		if sets.Items[i].DeletionTimestamp.IsZero() {
			peers = append(peers, peerOf(&sets.Items[i]))
		}
	}
	_, conflicts := validation.ConfigMapSetConflicts(peerOf(obj), peers)
	if len(conflicts) > 0 {
		return nil, apierrors.NewConflict(appsv1alpha1.Resource("configmapsets"), obj.Name, conflicts.ToAggregate())
	}
	return nil, nil
}

// reloadSidecar checks the SidecarSet that a set takes its sidecar from.
func (f facts) reloadSidecar(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (field.ErrorList, error) {
	config := obj.Spec.ReloadSidecarConfig
	if config == nil || config.Type != appsv1alpha1.ReloadSidecarTypeSidecarSet || config.Config == nil || config.Config.SidecarSetRef == nil {
		return nil, nil
	}
	set, namespace := &appsv1beta1.SidecarSet{}, metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := f.Get(ctx, client.ObjectKey{Name: obj.Namespace}, &namespace); err != nil {
		return nil, err
	}
	if err := f.Get(ctx, client.ObjectKey{Name: config.Config.SidecarSetRef.Name}, set); apierrors.IsNotFound(err) {
		set = nil
	} else if err != nil {
		return nil, err
	}
	_, problems := validation.ValidateReloadSidecar(obj, validation.ReloadSidecarFacts{SidecarSet: set, NamespaceLabels: namespace.Labels})
	return problems, nil
}

// peerOf names the sidecar that a set brings where the set itself says it.
func peerOf(set *appsv1alpha1.ConfigMapSet) validation.ConfigMapSetPeer {
	peer := validation.ConfigMapSetPeer{Set: set}
	if config := set.Spec.ReloadSidecarConfig; config != nil && config.Type == appsv1alpha1.ReloadSidecarTypeK8s && config.Config != nil {
		peer.Sidecar = config.Config.Name
	}
	return peer
}
