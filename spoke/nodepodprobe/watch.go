// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// nodeChanged drops heartbeats: what counts is whether the node is there, ready, and no virtual kubelet.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Node)
		after, okAfter := e.ObjectNew.(*corev1.Node)
		return !okBefore || !okAfter || before.UID != after.UID || ready(before) != ready(after) ||
			podprobe.Serverless(before) != podprobe.Serverless(after) ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
	}}
}

// podChanged lets through what moves a pod in or out, or changes its entry.
func podChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, okBefore := e.ObjectOld.(*corev1.Pod)
		after, okAfter := e.ObjectNew.(*corev1.Pod)
		return !okBefore || !okAfter || before.UID != after.UID || podprobe.Probed(before) != podprobe.Probed(after) ||
			before.Status.PodIP != after.Status.PodIP || !maps.Equal(before.Labels, after.Labels)
	}}
}

// nodeOf is the node of a pod, where there may be something to do: a marker in the pod's namespace, or an entry.
func (r *Reconciler) nodeOf(ctx context.Context, obj client.Object) []reconcile.Request {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	var list v1alpha1.PodProbeMarkerList
	err := r.client.List(ctx, &list, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy)
	if err == nil && len(list.Items) == 0 && !r.hasEntry(ctx, pod) {
		return nil
	}
	return []reconcile.Request{requestFor(pod.Spec.NodeName)}
}

func (r *Reconciler) hasEntry(ctx context.Context, pod *corev1.Pod) bool {
	var npp v1alpha1.NodePodProbe
	if err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, &npp, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	return slices.ContainsFunc(npp.Spec.PodProbes, func(p v1alpha1.PodProbe) bool {
		return p.Namespace == pod.Namespace && p.Name == pod.Name
	})
}

// nodesOf are the nodes that a marker's probes are to run on, and those where they do.
func (r *Reconciler) nodesOf(ctx context.Context, obj client.Object) []reconcile.Request {
	marker, ok := obj.(*v1alpha1.PodProbeMarker)
	if !ok {
		return nil
	}
	names, err := podprobe.NodesWith(ctx, r.client, client.ObjectKeyFromObject(marker))
	if err != nil {
		log.FromContext(ctx).Error(err, "List the nodes of a marker", "marker", client.ObjectKeyFromObject(marker))
	}
	nodes := map[string]bool{}
	for _, name := range names {
		nodes[name] = true
	}
	pods, err := podprobe.PodsOf(ctx, r.client, podprobe.MarkerOf(marker))
	if err != nil {
		log.FromContext(ctx).Error(err, "List the pods of a marker", "marker", client.ObjectKeyFromObject(marker))
	}
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" {
			nodes[name] = true
		}
	}
	out := make([]reconcile.Request, 0, len(nodes))
	for name := range nodes {
		out = append(out, requestFor(name))
	}
	return out
}

func requestFor(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: node}}
}
