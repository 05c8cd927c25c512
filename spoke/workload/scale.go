// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Unknown is the number of replicas of a workload that does not tell it.
const Unknown int32 = -1

// Ref names a workload of a namespace. Its version does not matter; of an UID, nothing but that very object is meant.
type Ref struct {
	APIVersion, Kind, Namespace, Name string
	UID                               types.UID
}

// RefOf is the workload that an owner reference names.
func RefOf(namespace string, owner *metav1.OwnerReference) Ref {
	return Ref{owner.APIVersion, owner.Kind, namespace, owner.Name, owner.UID}
}

// GVK is the kind of the workload; an apiVersion that cannot be read gives one without a group.
func (r *Ref) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// Scale is how many pods a workload wants.
type Scale struct {
	Ref
	// Replicas wanted, or Unknown.
	Replicas int32
	// Selector of its pods, for workloads that have them made by others; nil where it is not known.
	Selector labels.Selector
}

// Finder finds out how many pods workloads want.
type Finder struct {
	// Seen is the cache, which has Deployments, StatefulSets and CloneSets.
	Seen client.Reader
	// Live asks for all others: for their scale subresource, and where there is none, for the object.
	Live interface {
		client.Reader
		client.SubResourceClientConstructor
	}
}

// Counted returns empty objects of the kinds that Finder reads from the cache.
func Counted() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1beta1.CloneSet{}, &appsv1beta1.StatefulSet{}}
}

// Wanted is how many pods an object wants that is of a kind Counted returns, with the labels that they have. Replicas
// left out are 1.
func Wanted(obj client.Object) (replicas int32, podLabels map[string]string) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template.Labels
	case *appsv1.StatefulSet:
		return ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template.Labels
	case *appsv1beta1.CloneSet:
		return ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template.Labels
	case *appsv1beta1.StatefulSet:
		return ptr.Deref(o.Spec.Replicas, 1), o.Spec.Template.Labels
	}
	return Unknown, nil
}

// counted returns an empty object for a kind that is in the cache; nil for others.
func counted(kind schema.GroupKind) client.Object {
	switch kind {
	case Deployment.GroupKind():
		return &appsv1.Deployment{}
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind():
		return &appsv1.StatefulSet{}
	case appsv1beta1.Kind("CloneSet").GroupKind():
		return &appsv1beta1.CloneSet{}
	case appsv1beta1.Kind("StatefulSet").GroupKind():
		return &appsv1beta1.StatefulSet{}
	}
	return nil
}

// Scale returns how many pods a workload wants; nil when it is gone, on its way out, or of a kind that the API server
// does not know. Do not change what it returns.
func (f *Finder) Scale(ctx context.Context, ref Ref) (*Scale, error) {
	obj := counted(ref.GVK().GroupKind())
	if obj == nil {
		return f.ask(ctx, ref)
	}
	err := f.Seen.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, obj, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", ref.Kind, ref.Name, err)
	}
	if obj.GetDeletionTimestamp() != nil || ref.UID != "" && ref.UID != obj.GetUID() {
		return nil, nil
	}
	ref.UID = obj.GetUID()
	replicas, _ := Wanted(obj)
	return &Scale{Ref: ref, Replicas: replicas}, nil
}

// ask reads the scale subresource from the API server.
func (f *Finder) ask(ctx context.Context, ref Ref) (*Scale, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(ref.GVK())
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	scale := &unstructured.Unstructured{}
	scale.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	err := f.Live.SubResource("scale").Get(ctx, obj, scale)
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case apierrors.IsNotFound(err):
		return f.bare(ctx, ref)
	case err != nil:
		return nil, fmt.Errorf("scale of %s %s: %w", ref.Kind, ref.Name, err)
	case ref.UID != "" && scale.GetUID() != ref.UID:
		return nil, nil
	}
	ref.UID = scale.GetUID()
	replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas") // left out where it is 0
	text, _, _ := unstructured.NestedString(scale.Object, "status", "selector")
	out := &Scale{Ref: ref, Replicas: int32(replicas)}
	if selector, err := labels.Parse(text); err == nil && text != "" {
		out.Selector = selector
	}
	return out, nil
}

// bare looks whether a workload without a scale subresource exists; where that may not be looked up, it does.
func (f *Finder) bare(ctx context.Context, ref Ref) (*Scale, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(ref.GVK())
	err := f.Live.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, obj)
	switch {
	case apierrors.IsForbidden(err):
		return &Scale{Ref: ref, Replicas: Unknown}, nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", ref.Kind, ref.Name, err)
	case obj.DeletionTimestamp != nil, ref.UID != "" && obj.UID != ref.UID:
		return nil, nil
	}
	ref.UID = obj.UID
	return &Scale{Ref: ref, Replicas: Unknown}, nil
}

// Pods lists the pods of a workload: those it controls, or where there are none, those that its selector finds. A
// workload that wants none has none. The pods are the cache's own and must not be changed.
func (f *Finder) Pods(ctx context.Context, s *Scale) ([]*corev1.Pod, error) {
	if s.Replicas == 0 {
		return nil, nil
	}
	found, err := Pods(ctx, f.Seen, s.GVK(), s.Namespace, s.UID)
	if err != nil || len(found) > 0 || s.Selector == nil {
		return found, err
	}
	return listed(ctx, f.Seen, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: s.Selector})
}
