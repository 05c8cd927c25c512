// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// nodes returns the NodeImages that the job picks. They belong to the cache.
func (r *Reconciler) nodes(ctx context.Context, job *v1beta1.ImagePullJob) ([]*v1beta1.NodeImage, error) {
	picks, err := r.picker(ctx, job)
	if err != nil {
		return nil, err
	}
	var list v1beta1.NodeImageList
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list NodeImages: %w", err)
	}
	var out []*v1beta1.NodeImage
	for i := range list.Items {
		if node := &list.Items[i]; node.DeletionTimestamp == nil && picks(node.Name, node.Labels) {
			out = append(out, node)
		}
	}
	return out, nil
}

type picks func(name string, labels map[string]string) bool

// picker reads what decides which nodes the job picks.
func (r *Reconciler) picker(ctx context.Context, job *v1beta1.ImagePullJob) (picks, error) {
	if job.Spec.PodSelector == nil {
		return byNode(job.Spec.Selector)
	}
	selector, err := metav1.LabelSelectorAsSelector(&job.Spec.PodSelector.LabelSelector)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	err = r.client.List(ctx, &list, client.InNamespace(job.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName != "" && pods.IsActive(pod) {
			names[pod.Spec.NodeName] = true
		}
	}
	return func(name string, _ map[string]string) bool { return names[name] }, nil
}

// byNode picks by what a node is called and labelled; nothing said picks all.
func byNode(selector *v1beta1.ImagePullJobNodeSelector) (picks, error) {
	if selector == nil {
		return func(string, map[string]string) bool { return true }, nil
	}
	if len(selector.Names) > 0 {
		return func(name string, _ map[string]string) bool { return slices.Contains(selector.Names, name) }, nil
	}
	s, err := metav1.LabelSelectorAsSelector(&selector.LabelSelector)
	if err != nil {
		return nil, err
	}
	return func(_ string, l map[string]string) bool { return s.Matches(labels.Set(l)) }, nil
}

// others returns the other jobs under way that ask for the same tag on a node.
func (r *Reconciler) others(ctx context.Context, node *v1beta1.NodeImage, s Snapshot) ([]*v1beta1.ImagePullJob, error) {
	tag := node.TagSpec(s.Image.Name, s.Image.Tag)
	if tag == nil {
		return nil, nil
	}
	var out []*v1beta1.ImagePullJob
	for _, o := range tag.OwnerReferences {
		if o.UID == s.Job.UID || o.Kind != "ImagePullJob" {
			continue
		}
		job := &v1beta1.ImagePullJob{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, job); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if job.UID == o.UID && active(job) {
			v1beta1.DefaultImagePullJob(job)
			out = append(out, job)
		}
	}
	return out, nil
}

// active tells whether a job is under way.
func active(job *v1beta1.ImagePullJob) bool {
	return job.DeletionTimestamp == nil && job.Status.CompletionTime == nil
}
