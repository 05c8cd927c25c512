// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// second is how exact times in a status are.
const second = time.Second

// podChanges are the changes of a pod that can matter to a job.
var podChanges = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	old, ok := e.ObjectOld.(*corev1.Pod)
	pod, isPod := e.ObjectNew.(*corev1.Pod)
	return ok && isPod && (pods.IsActive(old) != pods.IsActive(pod) ||
		!equality.Semantic.DeepEqual(old.Labels, pod.Labels) ||
		len(old.Spec.EphemeralContainers) != len(pod.Spec.EphemeralContainers) ||
		!equality.Semantic.DeepEqual(old.Status.EphemeralContainerStatuses, pod.Status.EphemeralContainerStatuses))
}}

// jobsOf are the jobs under way that select the pod, or have a container in it.
func (r *Reconciler) jobsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	var list v1alpha1.EphemeralJobList
	if err := r.client.List(ctx, &list, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the jobs of a pod")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if job := &list.Items[i]; concerns(job, pod) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)})
		}
	}
	return out
}

func concerns(job *v1alpha1.EphemeralJob, pod *corev1.Pod) bool {
	if job.Status.CompletionTime != nil || job.DeletionTimestamp != nil {
		return false
	}
	for i := range pod.Spec.EphemeralContainers {
		if madeBy(job.UID, pod.Spec.EphemeralContainers[i].Env) {
			return true // even when its labels have changed since
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}
