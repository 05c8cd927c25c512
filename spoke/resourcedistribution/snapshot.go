// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/latecache"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// errUnreadable says what to do where rights are missing.
var errUnreadable = errors.New("flotilla-spoke may not watch Secrets, ConfigMaps and Namespaces: apply kustomize/distribution, which grants it")

// copied are the kinds that can be distributed.
var copied = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}

// namespaceKind is watched by its metadata.
func namespaceKind() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return out
}

// newCache is the cache of what can be read with the rights of kustomize/distribution alone: marked copies without their
// content, and the metadata of namespaces.
func newCache(ctx context.Context, mgr manager.Manager) (*latecache.Cache, error) {
	marked := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{copyLabel: copyMark}), Transform: strip}
	byObject := map[client.Object]cache.ByObject{}
	for _, obj := range copied {
		byObject[obj] = marked
	}
	c, err := latecache.New(mgr, cache.Options{ByObject: byObject, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, err
	}
	for _, obj := range copied {
		if err := c.IndexField(ctx, obj, ownership.ControllerUIDIndex, ownership.IndexByController); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// gather reads all that decides. The error is errUnreadable where rights are missing.
func (r *Reconciler) gather(ctx context.Context, rd *v1beta1.ResourceDistribution, t *template) (*snapshot, error) {
	s := &snapshot{digest: t.digest, hash: t.hash}
	for _, kind := range append([]client.Object{namespaceKind()}, t.object) {
		if readable, err := r.cache.Readable(ctx, kind); err != nil || !readable {
			return s, errors.Join(err, errUnreadable)
		}
	}
	to, err := aimOf(&rd.Spec.Targets)
	if err != nil {
		return s, fmt.Errorf("spec.targets.namespaceSelector: %w", err)
	}
	if s.namespaces, err = r.namespaces(ctx); err != nil {
		return s, err
	}
	s.targets, s.others = to.resolve(s.namespaces)
	if s.found, err = r.marked(ctx, rd, t); err != nil {
		return s, err
	}
	if !r.looked(rd) {
		return s, r.lookEverywhere(ctx, rd, t, s.found)
	}
	unseen := s.unseen()
	if len(unseen) > few {
		return s, r.lookEverywhere(ctx, rd, t, s.found)
	}
	return s, r.lookInto(ctx, rd, t, unseen, s.found)
}

func (r *Reconciler) namespaces(ctx context.Context) (map[string]namespaceFacts, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := r.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Namespaces: %w", err)
	}
	out := make(map[string]namespaceFacts, len(list.Items))
	for i := range list.Items {
		out[list.Items[i].Name] = factsOf(&list.Items[i])
	}
	return out, nil
}

func factsOf(namespace client.Object) namespaceFacts {
	return namespaceFacts{labels: namespace.GetLabels(), going: namespace.GetDeletionTimestamp() != nil}
}

// marked are our copies that are watched.
func (r *Reconciler) marked(ctx context.Context, rd *v1beta1.ResourceDistribution, t *template) (map[string]sighting, error) {
	found := map[string]sighting{}
	see := func(obj client.Object) {
		if obj.GetName() == t.object.GetName() && isOurs(obj, rd) {
			found[obj.GetNamespace()] = sighting{ours: true, marked: true, digest: keptDigest(obj), hash: obj.GetAnnotations()[v1beta1.ResourceHashKey]}
		}
	}
	options := []client.ListOption{client.MatchingFields{ownership.ControllerUIDIndex: string(rd.UID)}, client.UnsafeDisableDeepCopy}
	if _, secrets := t.object.(*corev1.Secret); secrets {
		list := &corev1.SecretList{}
		if err := r.cache.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("list copies: %w", err)
		}
		for i := range list.Items {
			see(&list.Items[i])
		}
		return found, nil
	}
	list := &corev1.ConfigMapList{}
	if err := r.cache.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list copies: %w", err)
	}
	for i := range list.Items {
		see(&list.Items[i])
	}
	return found, nil
}

// few is up to how many namespaces are asked one by one: one request for all answers with every copy there is.
const few = 10

// lookEverywhere adds the objects of that name which are not watched, in all namespaces, with one request.
func (r *Reconciler) lookEverywhere(ctx context.Context, rd *v1beta1.ResourceDistribution, t *template, found map[string]sighting) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindOf(t.object) + "List"))
	if err := r.live.List(ctx, list, client.MatchingFields{"metadata.name": t.object.GetName()}); err != nil {
		return fmt.Errorf("list objects of the copies' name: %w", err)
	}
	for i := range list.Items {
		obj := &list.Items[i]
		if _, watched := found[obj.Namespace]; !watched {
			found[obj.Namespace] = sighting{ours: isOurs(obj, rd)}
		}
	}
	return nil
}

// lookInto adds what is in some namespaces, of which no copy is watched.
func (r *Reconciler) lookInto(ctx context.Context, rd *v1beta1.ResourceDistribution, t *template, namespaces []string, found map[string]sighting) error {
	for _, namespace := range namespaces {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindOf(t.object)))
		err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: t.object.GetName()}, obj)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("look into namespace %s: %w", namespace, err)
		}
		if err == nil {
			found[namespace] = sighting{ours: isOurs(obj, rd)}
		}
	}
	return nil
}

// view is which spec of which ResourceDistribution was looked at.
type view struct {
	uid        types.UID
	generation int64
}

// looked tells whether this process has looked for unmarked copies of the very ResourceDistribution, and brought them to
// what its spec says.
func (r *Reconciler) looked(rd *v1beta1.ResourceDistribution) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[rd.Name] == view{rd.UID, rd.Generation}
}

func (r *Reconciler) setLooked(rd *v1beta1.ResourceDistribution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[rd.Name] = view{rd.UID, rd.Generation}
}

func (r *Reconciler) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, name)
}
