// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// Deployment and replicaSet are the kinds whose pods are one step further away.
var (
	Deployment = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSet = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
)

// ReplicaSet returns an empty ReplicaSet of which only metadata is read and cached.
func ReplicaSet() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(replicaSet)
	return out
}

// AddIndexes registers the cache index by which ReplicaSets are found by the uid of their controller.
// Call it once for a manager. The same index on Pods, ownership.ControllerUIDIndex, is needed as well
// and left to the caller, since others need it too.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, ReplicaSet(), ownership.ControllerUIDIndex, ownership.IndexByController); err != nil {
		return fmt.Errorf("indexing ReplicaSets by controller: %w", err)
	}
	return nil
}

// Pods lists the pods of the workload of that kind, namespace and uid: those it controls, or for a
// Deployment those its ReplicaSets control. The pods are the cache's own and must not be changed.
func Pods(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind, namespace string, uid types.UID) ([]*corev1.Pod, error) {
	if kind.GroupKind() != Deployment.GroupKind() {
		return controlled(ctx, reader, namespace, uid)
	}
	sets := &metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(replicaSet)
	if err := reader.List(ctx, sets, client.InNamespace(namespace), byController(uid)); err != nil {
		return nil, fmt.Errorf("listing ReplicaSets: %w", err)
	}
	var out []*corev1.Pod
	for i := range sets.Items {
		pods, err := controlled(ctx, reader, namespace, sets.Items[i].UID)
		if err != nil {
			return nil, err
		}
		out = append(out, pods...)
	}
	return out, nil
}

func controlled(ctx context.Context, reader client.Reader, namespace string, uid types.UID) ([]*corev1.Pod, error) {
	return listed(ctx, reader, client.InNamespace(namespace), byController(uid))
}

func listed(ctx context.Context, reader client.Reader, options ...client.ListOption) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	out := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

func byController(uid types.UID) client.MatchingFields {
	return client.MatchingFields{ownership.ControllerUIDIndex: string(uid)}
}

// OfPod returns the controller of a pod, stepping over a ReplicaSet that has a controller itself;
// nil when there is none. A ReplicaSet that is gone from the cache gives nil.
func OfPod(ctx context.Context, reader client.Reader, pod *corev1.Pod) (*metav1.OwnerReference, error) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ownership.ControllerOf(pod, replicaSet.GroupKind()) == nil {
		return ref, nil
	}
	set := ReplicaSet()
	if err := reader.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, set); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if above := metav1.GetControllerOf(set); above != nil {
		return above, nil
	}
	return ref, nil
}
