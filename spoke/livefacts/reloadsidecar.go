// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package livefacts

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

// ReloadSidecar implements kindadmission.Member: the SidecarSet that the set names, with the labels of its
// namespace, or the ConfigMap.
func (f Facts) ReloadSidecar(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (validation.ReloadSidecarFacts, error) {
	out := validation.ReloadSidecarFacts{}
	config := obj.Spec.ReloadSidecarConfig
	switch {
	case config == nil || config.Config == nil:
		return out, nil
	case config.Type == appsv1alpha1.ReloadSidecarTypeSidecarSet && config.Config.SidecarSetRef != nil:
		err := f.reloadSidecarSet(ctx, obj.Namespace, config.Config.SidecarSetRef.Name, &out)
		return out, err
	case config.Type == appsv1alpha1.ReloadSidecarTypeCustom && config.Config.ConfigMapRef != nil:
		ref := config.Config.ConfigMapRef
		out.ConfigMapOptional = ref.Namespace == appsv1alpha1.DefaultReloadConfigMapNamespace && ref.Name == appsv1alpha1.DefaultReloadConfigMapName
		found, err := f.configMap(ctx, client.ObjectKey{Namespace: cmp.Or(ref.Namespace, obj.Namespace), Name: ref.Name})
		out.ConfigMap = found
		return out, err
	}
	return out, nil
}

func (f Facts) reloadSidecarSet(ctx context.Context, inNamespace, name string, out *validation.ReloadSidecarFacts) error {
	namespace := metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := f.Get(ctx, client.ObjectKey{Name: inNamespace}, &namespace); err != nil {
		return err
	}
	out.NamespaceLabels = namespace.Labels
	set := &appsv1beta1.SidecarSet{}
	if err := f.Get(ctx, client.ObjectKey{Name: name}, set); err != nil {
		return client.IgnoreNotFound(err)
	}
	out.SidecarSet = set
	return nil
}

// configMap is the data of a ConfigMap, nil where there is none.
func (f Facts) configMap(ctx context.Context, key client.ObjectKey) (map[string]string, error) {
	found := corev1.ConfigMap{}
	if err := f.Get(ctx, key, &found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if found.Data == nil {
		return map[string]string{}, nil
	}
	return found.Data, nil
}

// ConfigMapSetHistory implements kindadmission.Member.
func (f Facts) ConfigMapSetHistory(ctx context.Context, obj *appsv1alpha1.ConfigMapSet) (validation.ConfigMapSetHistory, error) {
	out := validation.ConfigMapSetHistory{Pods: map[string][]string{}}
	stored, err := f.configMap(ctx, client.ObjectKey{
		Namespace: obj.Namespace, Name: appsv1alpha1.ConfigMapSetName(obj.Name, appsv1alpha1.ConfigMapSetRevisionsSuffix),
	})
	if err != nil || stored == nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(stored[appsv1alpha1.ConfigMapSetRevisionsKey]), &out.Revisions); err != nil {
		return out, nil // its controller makes it anew
	}
	selector, err := metav1.LabelSelectorAsSelector(obj.Spec.Selector)
	if err != nil {
		return out, err
	}
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := f.List(ctx, &list, client.InNamespace(obj.Namespace), client.MatchingLabelsSelector{Selector: selector}, activePods); err != nil {
		return out, err
	}
	prefix := appsv1alpha1.ConfigMapSetAnnotationPrefix + appsv1alpha1.ConfigMapSetToken(obj.Name)
	for i := range list.Items {
		pod := &list.Items[i]
		if !pod.DeletionTimestamp.IsZero() {
			continue
		}
		wanted, current := pod.Annotations[prefix+appsv1alpha1.ConfigMapSetUpdateRevisionSuffix], pod.Annotations[prefix+appsv1alpha1.ConfigMapSetCurrentRevisionSuffix]
		for _, hash := range slices.Compact([]string{wanted, current}) {
			if hash != "" {
				out.Pods[hash] = append(out.Pods[hash], pod.Name)
			}
		}
	}
	return out, nil
}

// activePods selects pods that have not ended.
var activePods = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)), fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)}
