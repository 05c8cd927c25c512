// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// dependentsIndex is the informers' index by namespace and uid of the controlling owner.
const dependentsIndex = "flotilla.sh/controller-uid"

// dependentsKey keeps namespaces apart: whoever may write in one of them can name any owner's uid there, and an owner
// has nothing outside of its own.
func dependentsKey(namespace, uid string) string { return namespace + "/" + uid }

// Dependents are the cached objects of one kind by their controlling owner. A client's List copies every object it
// returns, which for the pods of a big workload is most of what a pass allocates; this copies nothing.
type Dependents[T client.Object] struct{ indexer toolscache.Indexer }

// NewDependents indexes the cache's objects of one kind. Call it before the cache is started.
func NewDependents[T client.Object](ctx context.Context, from cache.Informers, kind T) (*Dependents[T], error) {
	informer, err := from.GetInformer(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("informer of %T: %w", kind, err)
	}
	shared, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, fmt.Errorf("the informer of %T has no index: it must be that of a cache of all namespaces", kind)
	}
	d := &Dependents[T]{shared.GetIndexer()}
	if _, have := d.indexer.GetIndexers()[dependentsIndex]; have {
		return d, nil
	}
	return d, informer.AddIndexers(toolscache.Indexers{dependentsIndex: func(obj any) ([]string, error) {
		o, ok := obj.(client.Object)
		if !ok {
			return nil, nil
		}
		keys := IndexByController(o)
		for i := range keys {
			keys[i] = dependentsKey(o.GetNamespace(), keys[i])
		}
		return keys, nil
	}})
}

// Of returns the objects in the owner's namespace that it controls, in no order. They are the cache's own: none may be
// changed.
func (d *Dependents[T]) Of(owner client.Object) ([]T, error) {
	found, err := d.indexer.ByIndex(dependentsIndex, dependentsKey(owner.GetNamespace(), string(owner.GetUID())))
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(found))
	for _, obj := range found {
		if o, ok := obj.(T); ok {
			out = append(out, o)
		}
	}
	return out, nil
}
