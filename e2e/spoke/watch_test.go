// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// readyWatch follows the pods of a namespace event by event and remembers the fewest that were ready.
type readyWatch struct {
	mu     sync.Mutex
	ready  map[types.UID]bool
	fewest int
}

// watchReady starts from the pods there are now, which must all be ready.
func watchReady(ctx context.Context, ns string) (*readyWatch, error) {
	clientset, err := kubernetes.NewForConfig(member.Config)
	if err != nil {
		return nil, err
	}
	list, err := clientset.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	w := &readyWatch{ready: map[types.UID]bool{}, fewest: len(list.Items)}
	for i := range list.Items {
		w.note(&list.Items[i], watch.Added)
	}
	w.fewest = w.count()
	events, err := clientset.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	DeferCleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				w.note(pod, event.Type)
			}
		}
	}()
	return w, nil
}

func (w *readyWatch) note(pod *corev1.Pod, event watch.EventType) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := event == watch.Deleted || pod.DeletionTimestamp != nil
	w.ready[pod.UID] = !gone && harness.Ready(pod, pod.Spec.Containers[0].Image)
	w.fewest = min(w.fewest, w.count())
}

func (w *readyWatch) count() int {
	n := 0
	for _, ready := range w.ready {
		if ready {
			n++
		}
	}
	return n
}

func (w *readyWatch) least() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fewest
}
