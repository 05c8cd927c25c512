// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// setChanged lets everything through but our own status writes. What somebody else made of a status is put right.
func (r *Reconciler) setChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
		predicate.AnnotationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
				r.foreignStatus(e.ObjectOld, e.ObjectNew)
		}})
}

// foreignStatus says whether the status changed to something else than what was sent last.
func (r *Reconciler) foreignStatus(before, after client.Object) bool {
	was, okBefore := before.(*appsv1beta1.CloneSet)
	is, okAfter := after.(*appsv1beta1.CloneSet)
	return okBefore && okAfter && !equality.Semantic.DeepEqual(&was.Status, &is.Status) && !r.sent.is(is)
}

// setGone lets everything through, and forgets a set that is gone at once: no pass is made over it any more.
func (r *Reconciler) setGone() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(e event.DeleteEvent) bool {
		r.forget(e.Object)
		return true
	}}
}

// podChanged drops only updates that can change no decision: those of addresses and of times.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Pod)
		after, okAfter := e.ObjectNew.(*corev1.Pod)
		return !okBefore || !okAfter || matters(before, after)
	}}
}

func matters(a, b *corev1.Pod) bool {
	return a.UID != b.UID || a.Generation != b.Generation || metadataMatters(a, b) ||
		a.Status.Phase != b.Status.Phase || a.Status.ObservedGeneration != b.Status.ObservedGeneration || a.Spec.NodeName != b.Spec.NodeName ||
		!equality.Semantic.DeepEqual(a.Status.Conditions, b.Status.Conditions) ||
		!equality.Semantic.DeepEqual(a.Status.ContainerStatuses, b.Status.ContainerStatuses) ||
		!equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)
}

func metadataMatters(a, b *corev1.Pod) bool {
	return (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		!slices.Equal(a.Finalizers, b.Finalizers) ||
		!equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// claimChanged lets creation, deletion and the beginning of deletion through.
func claimChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
}
