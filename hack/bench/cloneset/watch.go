// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// seen is what a contender's progress is judged by.
type seen struct {
	// runs is the image that the first container runs, as the kubelet says.
	runs  string
	ready bool
}

// watch follows the pods of one namespace: by events, so that looking costs all contenders the same and little.
type watch struct {
	mu   sync.Mutex
	pods map[string]seen
	// changed has a channel for each pod that somebody waits for, closed when the pod changes.
	changed map[string]chan struct{}
}

// follow watches until the context ends.
func follow(ctx context.Context, cfg *rest.Config, namespace string) (*watch, error) {
	proto := rest.CopyConfig(cfg)
	proto.ContentType = "application/vnd.kubernetes.protobuf"
	c, err := kubernetes.NewForConfig(proto)
	if err != nil {
		return nil, err
	}
	w := &watch{pods: map[string]seen{}, changed: map[string]chan struct{}{}}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(c.CoreV1().RESTClient(), "pods", namespace, fields.Everything()),
		ObjectType:    &corev1.Pod{},
		Transform: func(obj any) (any, error) { // the key is all that has to be kept; a list that is watched passes twice
			if pod, ok := obj.(*corev1.Pod); ok && len(pod.Spec.Containers) > 0 {
				w.see(pod)
				slim := &corev1.Pod{}
				slim.Namespace, slim.Name, slim.ResourceVersion = pod.Namespace, pod.Name, pod.ResourceVersion
				return slim, nil
			}
			return obj, nil
		},
		Handler: cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
			if late, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = late.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				w.set(pod.Name, nil)
			}
		}},
	})
	go informer.RunWithContext(ctx)
	return w, nil
}

func (w *watch) see(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil || len(pod.Status.ContainerStatuses) == 0 {
		w.set(pod.Name, nil)
		return
	}
	image := pod.Status.ContainerStatuses[0].Image
	w.set(pod.Name, &seen{runs: image, ready: harness.Ready(pod, image)})
}

func (w *watch) set(name string, now *seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == nil {
		delete(w.pods, name)
	} else {
		w.pods[name] = *now
	}
	if c, ok := w.changed[name]; ok {
		close(c)
		delete(w.changed, name)
	}
}

// ready counts the pods that run the image and are ready.
func (w *watch) ready(image string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, p := range w.pods {
		if p.ready && p.runs == image {
			n++
		}
	}
	return n
}

// until waits until something holds of a pod.
func (w *watch) until(ctx context.Context, name string, holds func(seen) bool) error {
	for {
		w.mu.Lock()
		ok := holds(w.pods[name])
		changed, waited := w.changed[name]
		if !waited {
			changed = make(chan struct{})
			w.changed[name] = changed
		}
		w.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
