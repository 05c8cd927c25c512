// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/flotilla-sh/flotilla/internal/pods"
)

// PodWatch follows the pods of an app in a namespace of one cluster, event by event, and remembers the extremes. Pods
// that are being deleted or have ended count for none of them.
type PodWatch struct {
	mu sync.Mutex
	// ready has every pod that exists, and whether it is ready.
	ready map[types.UID]bool
	born  map[types.UID]bool
	// fewest pods that were ready at once, most that existed at once.
	fewest, most int
	// writers are the managers that ever held the Ready condition of a pod.
	writers []string
}

// WatchPods starts from the pods there are now and ends with ctx.
func (c *Cluster) WatchPods(ctx context.Context, namespace, app string) (*PodWatch, error) {
	clientset, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	w := &PodWatch{ready: map[types.UID]bool{}, born: map[types.UID]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=" + app }))
	registration, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.note(obj, false) },
		UpdateFunc: func(_, obj any) { w.note(obj, false) },
		DeleteFunc: func(obj any) { w.note(obj, true) },
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), registration.HasSynced)
	w.Reset()
	return w, ctx.Err()
}

func (w *PodWatch) note(obj any, gone bool) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.born[pod.UID] = true
	for _, entry := range pod.ManagedFields {
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`k:{\"type\":\"Ready\"}`)) &&
			!slices.Contains(w.writers, entry.Manager) {
			w.writers = append(w.writers, entry.Manager)
		}
	}
	if gone || !pods.IsActive(pod) {
		delete(w.ready, pod.UID)
	} else {
		w.ready[pod.UID] = pods.IsReady(pod)
	}
	w.fewest, w.most = min(w.fewest, w.countReady()), max(w.most, len(w.ready))
}

func (w *PodWatch) countReady() int {
	n := 0
	for _, ready := range w.ready {
		if ready {
			n++
		}
	}
	return n
}

// Reset forgets the extremes, not the pods: what is now is the fewest ready and the most.
func (w *PodWatch) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fewest, w.most = w.countReady(), len(w.ready)
}

// FewestReady is how many pods were ready at the worst moment.
func (w *PodWatch) FewestReady() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fewest
}

// Most is how many pods existed at once.
func (w *PodWatch) Most() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// Born is how many different pods were seen.
func (w *PodWatch) Born() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.born)
}

// ReadyWriters are the field managers that ever held the Ready condition of a pod.
func (w *PodWatch) ReadyWriters() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writers)
}
