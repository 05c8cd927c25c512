// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func sameName() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: obj.GetName()}}}
	})
}

// nodeChanged lets pass what Decide and LabelsFor look at, not the heartbeats.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*corev1.Node)
		after, ok2 := e.ObjectNew.(*corev1.Node)
		if !ok1 || !ok2 {
			return true
		}
		sinceBefore, readyBefore := readySince(before)
		since, ready := readySince(after)
		return readyBefore != ready || !sinceBefore.Equal(since) || !maps.Equal(before.Labels, after.Labels) ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) || before.UID != after.UID
	}}
}

func gone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// nodesOfJob wakes the nodes on which a job that is gone asks for something.
func (r *Reconciler) nodesOfJob() handler.EventHandler {
	return r.nodesWith(func(node *appsv1beta1.NodeImage, job client.Object) bool { return owns(node, job.GetUID()) })
}

// nodesOfSecret wakes the nodes that refer to a copied Secret that is gone (IP-08).
func (r *Reconciler) nodesOfSecret() handler.EventHandler {
	return r.nodesWith(func(node *appsv1beta1.NodeImage, secret client.Object) bool {
		for _, image := range node.Spec.Images {
			if slices.ContainsFunc(image.PullSecrets, func(ref appsv1beta1.ReferenceObject) bool { return ref.Name == secret.GetName() }) {
				return true
			}
		}
		return false
	})
}

func (r *Reconciler) nodesWith(fits func(*appsv1beta1.NodeImage, client.Object) bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var list appsv1beta1.NodeImageList
		if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			log.FromContext(ctx).Error(err, "Cannot list NodeImages; what somebody asked for who is gone stays until its node changes", "gone", client.ObjectKeyFromObject(obj))
			return nil
		}
		var out []reconcile.Request
		for i := range list.Items {
			if fits(&list.Items[i], obj) {
				out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
			}
		}
		return out
	})
}

func owns(node *appsv1beta1.NodeImage, uid types.UID) bool {
	for _, image := range node.Spec.Images {
		for i := range image.Tags {
			if image.Tags[i].OwnedBy(uid) {
				return true
			}
		}
	}
	return false
}
