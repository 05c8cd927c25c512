// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package latecache

import (
	"context"
	"time"

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

// patience is how long controllers wait for the objects when they start.
const patience = 10 * time.Second

// Cache is a cache of its own beside that of a manager, which starts and stops it.
type Cache struct{ cache.Cache }

// New adds a cache to a manager. Client, scheme and mapper of the options are those of the manager.
func New(mgr ctrl.Manager, opts cache.Options) (*Cache, error) {
	opts.HTTPClient, opts.Scheme, opts.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
	c, err := cache.New(mgr.GetConfig(), opts)
	if err != nil {
		return nil, err
	}
	return &Cache{c}, mgr.Add(c)
}

// Readable tells whether all objects of the kind are there to be read. It does not wait.
func (c *Cache) Readable(ctx context.Context, kind client.Object) (bool, error) {
	informer, err := c.informer(ctx, kind)
	if err != nil {
		return false, err
	}
	return informer.HasSynced(), nil
}

func (c *Cache) informer(ctx context.Context, kind client.Object) (cache.Informer, error) {
	return c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
}

// Source tells a controller of changes of the objects of a kind.
func (c *Cache) Source(kind client.Object, h handler.EventHandler, predicates ...predicate.Predicate) source.SyncingSource {
	return &watched{
		Func: func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			informer, err := c.informer(ctx, kind)
			if err != nil {
				return err
			}
			return (&source.Informer{Informer: informer, Handler: h, Predicates: predicates}).Start(ctx, q)
		},
		cache: c, kind: kind,
	}
}

type watched struct {
	source.Func
	cache *Cache
	kind  client.Object
}

// WaitForSync returns when the objects are there, or when that takes too long: no controller stands still for them.
func (w *watched) WaitForSync(ctx context.Context) error {
	informer, err := w.cache.informer(ctx, w.kind)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return nil
}
