// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pullsecrets

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-sh/flotilla/internal/latecache"
)

// ErrUnreadable says that the namespace cannot be read (yet).
var ErrUnreadable = errors.New("it must be there, with the role and the binding flotilla-spoke-pull-secrets in it")

// Copies reads and watches the Secrets of one namespace.
type Copies struct {
	cache     *latecache.Cache
	namespace string
}

// New adds a cache of a namespace's Secrets to a manager.
func New(mgr ctrl.Manager, namespace string) (*Copies, error) {
	c, err := latecache.New(mgr, cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(), DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	if err != nil {
		return nil, err
	}
	return &Copies{cache: c, namespace: namespace}, nil
}

// Get returns a Secret, which is the caller's. The error is ErrUnreadable where the namespace cannot be read.
func (c *Copies) Get(ctx context.Context, name string) (*corev1.Secret, error) {
	if err := c.readable(ctx); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	return secret, c.cache.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, secret)
}

// List returns all Secrets, which are the caller's. The error is ErrUnreadable where the namespace cannot be read.
func (c *Copies) List(ctx context.Context) ([]*corev1.Secret, error) {
	if err := c.readable(ctx); err != nil {
		return nil, err
	}
	var list corev1.SecretList
	if err := c.cache.List(ctx, &list); err != nil {
		return nil, err
	}
	return Pointers(&list), nil
}

// Pointers returns what is in a list.
func Pointers(list *corev1.SecretList) []*corev1.Secret {
	out := make([]*corev1.Secret, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

func (c *Copies) readable(ctx context.Context) error {
	readable, err := c.cache.Readable(ctx, &corev1.Secret{})
	if err == nil && !readable {
		err = fmt.Errorf("namespace %s cannot be read: %w", c.namespace, ErrUnreadable)
	}
	return err
}

// Source tells a controller of changes of the Secrets.
func (c *Copies) Source(h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	return c.cache.Source(&corev1.Secret{}, h, predicates...)
}
