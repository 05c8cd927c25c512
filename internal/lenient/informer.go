// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ours is how the names of our groups end: only their schemas leave parts open.
const ours = ".kruise.io"

var unreadable = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "flotilla_unreadable_objects", Help: "Objects that are left out because they cannot be read, of a kind that was listed one by one for it.",
}, []string{"kind"})

// NewInformer makes informers for a manager's cache, as cache.Options.NewInformer.
type NewInformer = func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

// Informers returns what makes lenient informers of our kinds, and ordinary ones of all others. The cache must not be
// narrowed for our kinds.
func Informers(cfg *rest.Config, scheme *runtime.Scheme) (NewInformer, error) {
	items, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	var already prometheus.AlreadyRegisteredError
	if err := metrics.Registry.Register(unreadable); err != nil && !errors.As(err, &already) {
		return nil, err
	}
	return func(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		_, untyped := obj.(runtime.Unstructured)
		_, metadata := obj.(*metav1.PartialObjectMetadata)
		if err == nil && strings.HasSuffix(gvk.Group, ours) && !untyped && !metadata {
			lw = &lister{ListerWatcher: lw, whole: cache.ToListerWatcherWithContext(lw), items: items, scheme: scheme, gvk: gvk}
		}
		return cache.NewSharedIndexInformer(lw, obj, resync, indexers)
	}, nil
}

// lister lists objects one by one where the list as a whole cannot be read. A watch that comes upon such an object
// ends, and the informer lists again.
type lister struct {
	cache.ListerWatcher // what informers no longer call, which know contexts
	whole               cache.ListerWatcherWithContext

	items  dynamic.Interface
	scheme *runtime.Scheme
	gvk    schema.GroupVersionKind
}

// WatchWithContext watches.
func (l *lister) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return l.whole.WatchWithContext(ctx, options)
}

// ListWithContext lists.
func (l *lister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := l.whole.ListWithContext(ctx, options)
	if err == nil {
		unreadable.DeleteLabelValues(l.gvk.Kind)
		return list, nil
	}
	var network net.Error
	var status apierrors.APIStatus
	if ctx.Err() != nil || errors.As(err, &status) || errors.As(err, &network) {
		return nil, err
	}
	return l.oneByOne(ctx, options)
}

// read reads an object as an ordinary list would.
func (l *lister) read(item *unstructured.Unstructured) (runtime.Object, error) {
	raw, err := item.MarshalJSON()
	if err != nil {
		return nil, err
	}
	obj, err := l.scheme.New(l.gvk)
	if err != nil {
		return nil, err
	}
	return obj, json.Unmarshal(raw, obj)
}

func (l *lister) oneByOne(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	resource, _ := meta.UnsafeGuessKindToResource(l.gvk)
	found, err := l.items.Resource(resource).List(ctx, options)
	if err != nil {
		return nil, err
	}
	out, err := l.scheme.New(l.gvk.GroupVersion().WithKind(l.gvk.Kind + "List"))
	if err != nil {
		return nil, err
	}
	var read []runtime.Object
	for i := range found.Items {
		item := &found.Items[i]
		obj, err := l.read(item)
		if err != nil {
			log.FromContext(ctx).Error(err, "An object is left out: it cannot be read, put it right or delete it",
				"kind", l.gvk.Kind, "namespace", item.GetNamespace(), "name", item.GetName())
			continue
		}
		read = append(read, obj)
	}
	unreadable.WithLabelValues(l.gvk.Kind).Set(float64(len(found.Items) - len(read)))
	if err := meta.SetList(out, read); err != nil {
		return nil, err
	}
	to, err := meta.ListAccessor(out)
	if err != nil {
		return nil, err
	}
	to.SetResourceVersion(found.GetResourceVersion())
	to.SetContinue(found.GetContinue())
	to.SetRemainingItemCount(found.GetRemainingItemCount())
	return out, nil
}
