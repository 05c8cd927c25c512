// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// copier keeps the copies of pull secrets.
type copier struct {
	client client.Client
	// live reads past caches, copies reads the cache of the namespace, sources the metadata of all Secrets.
	live, copies, sources client.Reader
	namespace             string

	mu sync.Mutex
	// seen holds sources by their keys, so that one that did not change is read once.
	seen map[client.ObjectKey]*corev1.Secret
}

// sync makes the copies that a job needs and returns where they are, and the names of Secrets that are not there.
func (c *copier) sync(ctx context.Context, job *v1beta1.ImagePullJob) (refs []v1beta1.ReferenceObject, missing []string, err error) {
	if job.Namespace == c.namespace {
		for _, name := range job.Spec.PullSecrets {
			refs = append(refs, v1beta1.ReferenceObject{Namespace: c.namespace, Name: name})
		}
		return refs, nil, nil
	}
	var errs []error
	for _, name := range job.Spec.PullSecrets {
		source, err := c.source(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name})
		if apierrors.IsNotFound(err) {
			missing = append(missing, name)
			continue
		}
		copied := ""
		if err == nil {
			copied, err = c.ensure(ctx, source, client.ObjectKeyFromObject(job).String())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("pull secret %s: %w", name, err))
			continue
		}
		refs = append(refs, v1beta1.ReferenceObject{Namespace: c.namespace, Name: copied, Mode: v1beta1.PullSecretModeBatch})
	}
	return refs, missing, errors.Join(errs...)
}

// source reads a Secret, past the cache only when it changed.
func (c *copier) source(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(secretKind)
	if err := c.sources.Get(ctx, key, meta); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	c.mu.Lock()
	seen := c.seen[key]
	c.mu.Unlock()
	if seen != nil && seen.ResourceVersion == meta.ResourceVersion {
		return seen, nil
	}
	secret := &corev1.Secret{}
	err := c.live.Get(ctx, key, secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.seen, key); err == nil {
		c.seen[key] = secret
	}
	return secret, err
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// ensure makes or refreshes the copy of a Secret and returns its name.
func (c *copier) ensure(ctx context.Context, source *corev1.Secret, job string) (string, error) {
	var list corev1.SecretList
	if err := c.copies.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
		return "", err
	}
	key := client.ObjectKeyFromObject(source)
	found := findCopy(pointers(list.Items), key, job)
	for _, salt := range []string{"", "1", "2", "3"} {
		if found != nil {
			return found.Name, c.refresh(ctx, found, source, job)
		}
		made := copyOf(source, c.namespace, copyName(key, salt), []string{job})
		err := c.client.Create(ctx, made, fieldOwner)
		if !apierrors.IsAlreadyExists(err) {
			return made.Name, err
		}
		there := &corev1.Secret{}
		if err := c.live.Get(ctx, client.ObjectKeyFromObject(made), there); err != nil {
			return "", err
		}
		found = findCopy([]*corev1.Secret{there}, key, job)
	}
	return "", errors.New("all names for its copy are taken")
}

func (c *copier) refresh(ctx context.Context, found, source *corev1.Secret, job string) error {
	if found.Type != source.Type { // it cannot be changed
		err := c.client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
		return errors.Join(client.IgnoreNotFound(err), fmt.Errorf("its type changed to %s: it is copied anew", source.Type))
	}
	changed, differs := refreshed(found, source, job)
	if !differs {
		return nil
	}
	return c.patch(ctx, found, changed)
}

// release takes the job out of the copies; one that no job needs any more is deleted. It reads past the cache: what
// it overlooks would stay for ever.
func (c *copier) release(ctx context.Context, job *v1beta1.ImagePullJob) error {
	if len(job.Spec.PullSecrets) == 0 || job.Namespace == c.namespace {
		return nil
	}
	var list corev1.SecretList
	if err := c.live.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
		return fmt.Errorf("list copied pull secrets: %w", err)
	}
	var errs []error
	key := client.ObjectKeyFromObject(job).String()
	for _, found := range pointers(list.Items) {
		left := references(found)
		i := slices.Index(left, key)
		if i < 0 || !isCopy(found) {
			continue
		}
		if left = slices.Delete(left, i, i+1); len(left) == 0 {
			err := c.client.Delete(ctx, found, client.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion})
			errs = append(errs, client.IgnoreNotFound(err))
			continue
		}
		changed := found.DeepCopy()
		setReferences(changed, left)
		errs = append(errs, c.patch(ctx, found, changed))
	}
	c.forget(job)
	return errors.Join(errs...)
}

func (c *copier) forget(job *v1beta1.ImagePullJob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range job.Spec.PullSecrets { // others that use it read it once more
		delete(c.seen, client.ObjectKey{Namespace: job.Namespace, Name: name})
	}
}

func (c *copier) patch(ctx context.Context, old, changed *corev1.Secret) error {
	return c.client.Patch(ctx, changed, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}), fieldOwner)
}

func pointers(list []corev1.Secret) []*corev1.Secret {
	out := make([]*corev1.Secret, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}
