// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pullsecrets

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// patience is how long controllers wait for the Secrets when they start.
const patience = 10 * time.Second

// ErrUnreadable says that the namespace cannot be read (yet).
var ErrUnreadable = errors.New("it must be there, with the role and the binding flotilla-spoke-pull-secrets in it")

// Copies reads and watches the Secrets of one namespace.
type Copies struct {
	cache     cache.Cache
	namespace string
}

// New adds a cache of a namespace's Secrets to a manager.
func New(mgr ctrl.Manager, namespace string) (*Copies, error) {
	c, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(), DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	if err != nil {
		return nil, err
	}
	return &Copies{cache: c, namespace: namespace}, mgr.Add(c)
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
	informer, err := c.informer(ctx)
	if err == nil && !informer.HasSynced() {
		err = fmt.Errorf("namespace %s cannot be read: %w", c.namespace, ErrUnreadable)
	}
	return err
}

func (c *Copies) informer(ctx context.Context) (cache.Informer, error) {
	return c.cache.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
}

// Source tells a controller of changes of the Secrets.
func (c *Copies) Source(h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	return &watched{
		Func: func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			informer, err := c.informer(ctx)
			if err != nil {
				return err
			}
			return (&source.Informer{Informer: informer, Handler: h, Predicates: predicates}).Start(ctx, q)
		},
		copies: c,
	}
}

type watched struct {
	source.Func
	copies *Copies
}

// WaitForSync returns when the Secrets are there, or when that takes too long: no controller stands still for them.
func (w *watched) WaitForSync(ctx context.Context) error {
	informer, err := w.copies.informer(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return nil
}
