// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// together is how long a job waits for more of its nodes to change, so that many changes cost one pass.
const together = 200 * time.Millisecond

func add(q queue, keys sets.Set[types.NamespacedName]) {
	for key := range keys {
		q.AddAfter(reconcile.Request{NamespacedName: key}, together)
	}
}

// jobsOfNode wakes the jobs that a change of a NodeImage concerns (IP-09): those that ask for the images in which
// something changed; those that pick the node now or did before, when it came, went or was labelled anew.
func (r *Reconciler) jobsOfNode() handler.EventHandler {
	all := func(ctx context.Context, q queue, states ...*v1beta1.NodeImage) {
		add(q, r.jobsPicking(ctx, states...))
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if node, ok := e.Object.(*v1beta1.NodeImage); ok {
				all(ctx, q, node)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if node, ok := e.Object.(*v1beta1.NodeImage); ok {
				all(ctx, q, node)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok1 := e.ObjectOld.(*v1beta1.NodeImage)
			after, ok2 := e.ObjectNew.(*v1beta1.NodeImage)
			if !ok1 || !ok2 {
				return
			}
			add(q, concerned(before, after))
			if !maps.Equal(before.Labels, after.Labels) || before.UID != after.UID || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) {
				all(ctx, q, before, after)
			}
		},
	}
}

// concerned are the jobs of the tags in which two states of a NodeImage differ. What holds for a whole image concerns
// the jobs of all its tags.
func concerned(before, after *v1beta1.NodeImage) sets.Set[types.NamespacedName] {
	out := sets.New[types.NamespacedName]()
	names := sets.KeySet(before.Spec.Images).Union(sets.KeySet(after.Spec.Images)).
		Union(sets.KeySet(before.Status.ImageStatuses)).Union(sets.KeySet(after.Status.ImageStatuses))
	for name := range names {
		old, now := before.Spec.Images[name], after.Spec.Images[name]
		whole := !equality.Semantic.DeepEqual(old.PullSecrets, now.PullSecrets) || !equality.Semantic.DeepEqual(old.SandboxConfig, now.SandboxConfig)
		for _, tag := range tagsOf(old.Tags, now.Tags) {
			a, b := before.TagSpec(name, tag), after.TagSpec(name, tag)
			if whole || !equality.Semantic.DeepEqual(a, b) || !equality.Semantic.DeepEqual(statusOf(before, name, tag), statusOf(after, name, tag)) {
				ownersOf(out, a)
				ownersOf(out, b)
			}
		}
	}
	return out
}

func tagsOf(a, b []v1beta1.ImageTagSpec) []string {
	names := sets.New[string]()
	for _, tag := range slices.Concat(a, b) {
		names.Insert(tag.Tag)
	}
	return names.UnsortedList()
}

// statusOf is the status of a tag but for its progress, which no job reads.
func statusOf(node *v1beta1.NodeImage, image, tag string) *v1beta1.ImageTagStatus {
	for _, s := range node.Status.ImageStatuses[image].Tags {
		if s.Tag == tag {
			s.Progress = 0
			return &s
		}
	}
	return nil
}

func ownersOf(out sets.Set[types.NamespacedName], tag *v1beta1.ImageTagSpec) {
	if tag == nil {
		return
	}
	for _, o := range tag.OwnerReferences {
		if o.Kind == "ImagePullJob" {
			out.Insert(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
		}
	}
}

// jobsPicking are the jobs under way that pick one of these states of a node.
func (r *Reconciler) jobsPicking(ctx context.Context, nodes ...*v1beta1.NodeImage) sets.Set[types.NamespacedName] {
	out := sets.New[types.NamespacedName]()
	for _, job := range r.activeJobs(ctx) {
		if job.Spec.PodSelector != nil {
			out.Insert(client.ObjectKeyFromObject(job)) // whether it picks the node its pods tell
			continue
		}
		fits, err := byNode(job.Spec.Selector)
		for _, node := range nodes {
			if err != nil || fits(node.Name, node.Labels) {
				out.Insert(client.ObjectKeyFromObject(job))
			}
		}
	}
	return out
}

// activeJobs are the jobs under way, of the cache.
func (r *Reconciler) activeJobs(ctx context.Context, in ...client.ListOption) []*v1beta1.ImagePullJob {
	var list v1beta1.ImagePullJobList
	if err := r.client.List(ctx, &list, append(in, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)...); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list ImagePullJobs; they wait for their next change")
		return nil
	}
	var out []*v1beta1.ImagePullJob
	for i := range list.Items {
		if active(&list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// jobsOfPod wakes the jobs of the namespace that pick nodes by a pod, as it is or was before.
func (r *Reconciler) jobsOfPod() handler.EventHandler {
	wake := func(ctx context.Context, q queue, states ...client.Object) {
		out := sets.New[types.NamespacedName]()
		for _, job := range r.activeJobs(ctx, client.InNamespace(states[0].GetNamespace())) {
			if job.Spec.PodSelector != nil && picksOneOf(job, states) {
				out.Insert(client.ObjectKeyFromObject(job))
			}
		}
		add(q, out)
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { wake(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { wake(ctx, q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { wake(ctx, q, e.Object) },
	}
}

// picksOneOf tells whether a job picks one of these states of a pod. One whose selector is wrong is woken: it says so.
func picksOneOf(job *v1beta1.ImagePullJob, states []client.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(&job.Spec.PodSelector.LabelSelector)
	return err != nil || slices.ContainsFunc(states, func(pod client.Object) bool { return selector.Matches(labels.Set(pod.GetLabels())) })
}

// podMoved lets pass what decides on which nodes a job's pods are.
func podMoved() predicate.Predicate {
	on := func(obj client.Object) bool {
		pod, ok := obj.(*corev1.Pod)
		return ok && pod.Spec.NodeName != ""
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return on(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return on(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*corev1.Pod)
			after, ok2 := e.ObjectNew.(*corev1.Pod)
			return ok1 && ok2 && (before.Spec.NodeName != after.Spec.NodeName || !maps.Equal(before.Labels, after.Labels) ||
				pods.IsActive(before) != pods.IsActive(after))
		},
	}
}

// jobsOfCopy wakes the jobs whose copied Secret changed or is gone.
func jobsOfCopy() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		secret, ok := obj.(*corev1.Secret)
		if !ok {
			return nil
		}
		var out []reconcile.Request
		for _, key := range references(secret) {
			namespace, name, _ := strings.Cut(key, "/")
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
		}
		return out
	})
}
