// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// maxCollisions bounds how many taken names one call walks past.
const maxCollisions = 10

// lagging: a cache behind our own writes does no harm here, since a name that is taken is looked at in
// the API server; so no pass waits for it.
const lagging = client.DisableReadYourWritesConsistency

// Store reads and writes ControllerRevisions. Reader is the cache, Live asks the API server.
type Store struct {
	client.Client
	Live client.Reader
}

// Owner is the workload a history belongs to.
type Owner struct {
	client.Object
	GVK schema.GroupVersionKind
	// Selector finds its revisions and pods.
	Selector *metav1.LabelSelector
	// Template is the pod template wanted now.
	Template *corev1.PodTemplateSpec
	// Payload and Labels stand in for Template where the history is of more than a pod template.
	Payload []byte
	Labels  map[string]string
	// Annotations are put on revisions beside those of the workload.
	Annotations map[string]string
}

// Result is a workload's history after Ensure.
type Result struct {
	// Update is the revision of the wanted template, Current the last one rolled out in full.
	Update, Current *appsv1.ControllerRevision
	// All of them, in no order.
	All []*appsv1.ControllerRevision
	// Collisions is the collision count to keep in the status, nil when there never was one.
	Collisions *int32
}

// List returns the revisions the owner controls, from the cache. They must not be changed.
func (s *Store) List(ctx context.Context, owner Owner) ([]*appsv1.ControllerRevision, error) {
	selector, err := metav1.LabelSelectorAsSelector(owner.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector: %w", err)
	}
	var list appsv1.ControllerRevisionList
	err = s.Client.List(ctx, &list, client.InNamespace(owner.GetNamespace()),
		client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy, lagging)
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	var out []*appsv1.ControllerRevision
	for i := range list.Items {
		if ref := metav1.GetControllerOfNoCopy(&list.Items[i]); ref != nil && ref.UID == owner.GetUID() {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// Ensure finds or makes the revision of the owner's template. current is the name the status holds;
// collisions its collision count, may be nil.
func (s *Store) Ensure(ctx context.Context, owner Owner, current string, collisions *int32) (*Result, error) {
	existing, err := s.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	if owner.Template != nil {
		owner.Labels = owner.Template.Labels
		if owner.Payload, err = Payload(owner.Template); err != nil {
			return nil, err
		}
	}
	candidate := s.candidate(owner)
	result := &Result{All: existing, Collisions: collisions}
	decision := Sync(existing, candidate)
	switch decision.Move {
	case Reuse:
		result.Update = decision.Existing
	case Promote:
		result.Update, err = s.promote(ctx, owner, decision)
	case Create:
		candidate.Revision = decision.Number
		result.Update, err = s.create(ctx, owner, candidate, result)
	}
	if err != nil {
		return nil, err
	}
	result.Current = Current(existing, current, result.Update)
	return result, nil
}

func (s *Store) candidate(owner Owner) *appsv1.ControllerRevision {
	annotations := maps.Clone(owner.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	maps.Copy(annotations, owner.Annotations)
	labels := maps.Clone(owner.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner.Object, owner.GVK)},
		},
		Data: runtime.RawExtension{Raw: owner.Payload},
	}
}

// create sends the candidate under the first free name. A name taken by an equal revision of the
// same owner is ours already: the cache had not shown it.
func (s *Store) create(ctx context.Context, owner Owner, candidate *appsv1.ControllerRevision, result *Result) (*appsv1.ControllerRevision, error) {
	for range maxCollisions {
		r := candidate.DeepCopy()
		hash := Hash(r.Data.Raw, result.Collisions)
		r.Name = Name(owner.GetName(), hash)
		r.Labels[appsv1beta1.ControllerHashLabel] = hash
		err := s.Create(ctx, r, lagging)
		if err == nil {
			result.All = append(result.All, r)
			return r, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create revision %s: %w", r.Name, err)
		}
		var taken appsv1.ControllerRevision
		if err := s.Live.Get(ctx, client.ObjectKeyFromObject(r), &taken); err != nil {
			return nil, fmt.Errorf("revision %s is taken: %w", r.Name, err)
		}
		if metav1.IsControlledBy(&taken, owner.Object) && Equal(&taken, r) {
			result.All = append(result.All, &taken)
			return &taken, nil
		}
		result.Collisions = ptr.To(ptr.Deref(result.Collisions, 0) + 1)
	}
	return nil, fmt.Errorf("no free revision name for %s after %d tries", owner.GetName(), maxCollisions)
}

func (s *Store) promote(ctx context.Context, owner Owner, decision Decision) (*appsv1.ControllerRevision, error) {
	r := decision.Existing.DeepCopy()
	before := decision.Existing.DeepCopy()
	r.Revision = decision.Number
	if len(owner.Annotations) > 0 && r.Annotations == nil {
		r.Annotations = map[string]string{}
	}
	maps.Copy(r.Annotations, owner.Annotations)
	// What was pulled ahead for an earlier rollout may have left the nodes since.
	delete(r.Labels, appsv1beta1.ImagePreDownloadCreatedKey)
	delete(r.Labels, appsv1beta1.ImagePreDownloadIgnoredKey)
	if err := s.Patch(ctx, r, client.MergeFrom(before), lagging); err != nil {
		return nil, fmt.Errorf("promote revision %s: %w", r.Name, err)
	}
	return r, nil
}

// Remove deletes revisions; one already gone is fine.
func (s *Store) Remove(ctx context.Context, list []*appsv1.ControllerRevision) error {
	for _, r := range list {
		if err := s.Delete(ctx, r, client.Preconditions{UID: &r.UID}, lagging); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete revision %s: %w", r.Name, err)
		}
	}
	return nil
}
