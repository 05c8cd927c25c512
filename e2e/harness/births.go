// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Births counts the pods that ever were.
type Births struct {
	mu   sync.Mutex
	seen map[types.UID]string
}

// WatchBirths follows the pods of an app in a namespace of all members, from now until ctx ends.
func (f *Fleet) WatchBirths(ctx context.Context, namespace, app string) (*Births, error) {
	b := &Births{seen: map[types.UID]string{}}
	for _, member := range f.Members {
		clientset, err := kubernetes.NewForConfig(member.Config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=" + app }))
		informer := factory.Core().V1().Pods().Informer()
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: b.add}); err != nil {
			return nil, err
		}
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	return b, nil
}

func (b *Births) add(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen[pod.UID] = pod.Name
	}
}

// Count is how many different pods were seen.
func (b *Births) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}
