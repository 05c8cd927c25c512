//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// promise is what a CloneSet promises about its pods.
type promise struct {
	// least is replicas - maxUnavailable, most is replicas + maxSurge.
	least, most int
}

// podWatch sees every change of every pod in a namespace, in the order in which they were made, and holds them against
// what the sets promise. Label app of a pod is its set's name.
type podWatch struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
	// wishes are the promises that a set may act on: those of its present spec, and of the ones before until it is
	// known to have caught up.
	wishes map[string][]promise
	// reuses are sets whose pods may have the names of those before.
	reuses map[string]bool
	named  map[string]types.UID
	// notOurs are pods that somebody else takes away.
	notOurs map[types.UID]bool
	created int
	faults  []string
}

func startPodWatch(ctx context.Context, ns string) *podWatch {
	GinkgoHelper()
	w := &podWatch{
		pods: map[types.UID]*corev1.Pod{}, wishes: map[string][]promise{}, reuses: map[string]bool{},
		named: map[string]types.UID{}, notOurs: map[types.UID]bool{},
	}
	watcher, err := client.NewWithWatch(server.ConfigFor("pod-watch"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace(ns))
	Expect(err).NotTo(HaveOccurred())
	over := make(chan struct{})
	DeferCleanup(func() { close(over); stream.Stop() })
	go func() {
		for event := range stream.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				w.see(event.Type, pod)
			}
		}
		select {
		case <-over:
		default:
			w.fault("the watch ended")
		}
	}()
	return w
}

// expect tells what a set is about to be asked for.
func (w *podWatch) expect(set string, p promise) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wishes[set] = append(w.wishes[set], p)
}

// settled tells that a set has done all it was asked for: what was before counts no more.
func (w *podWatch) settled(set string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.wishes[set]
	w.wishes[set] = list[len(list)-1:]
}

func (w *podWatch) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *podWatch) see(kind watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	before := w.pods[pod.UID]
	if kind == watch.Deleted {
		delete(w.pods, pod.UID)
	} else {
		w.pods[pod.UID] = pod
	}
	var found string
	if before == nil {
		found = w.judgeCreated(pod)
	} else {
		found = cmp.Or(w.judgeUpdate(before, pod), w.judgeTaken(kind, before, pod))
	}
	w.mu.Unlock()
	if found != "" {
		w.fault("%s", found)
	}
}

// judgeCreated: never too many pods, none of an instance or a name that has been.
func (w *podWatch) judgeCreated(pod *corev1.Pod) string {
	w.created++
	set, id := pod.Labels["app"], pod.Labels[appsv1beta1.CloneSetInstanceID]
	if old, ok := w.named[pod.Name]; ok && !w.reuses[set] {
		return fmt.Sprintf("pod %s is created a second time, it was %s", pod.Name, old)
	}
	w.named[pod.Name] = pod.UID
	active := 0
	for _, other := range w.pods {
		if other.Labels["app"] != set || !pods.IsActive(other) {
			continue
		}
		active++
		if other.UID != pod.UID && other.Labels[appsv1beta1.CloneSetInstanceID] == id {
			return fmt.Sprintf("pods %s and %s are of one instance", pod.Name, other.Name)
		}
	}
	most := 0
	for _, b := range w.wishes[set] {
		most = max(most, b.most)
	}
	if active > most {
		return fmt.Sprintf("pod %s is the %dth of set %s, %d are allowed", pod.Name, active, set, most)
	}
	return ""
}

// judgeUpdate: containers change behind a closed gate, which opens when they all run what they should.
func (w *podWatch) judgeUpdate(before, pod *corev1.Pod) string {
	is, shall := &pod.Status.ContainerStatuses, pod.Spec.Containers[0].Image
	switch {
	case pod.Spec.Containers[0].Image != before.Spec.Containers[0].Image && !closed(before):
		return fmt.Sprintf("the containers of pod %s change behind an open gate", pod.Name)
	case closed(before) && !closed(pod) && pod.DeletionTimestamp == nil && (len(*is) == 0 || (*is)[0].Image != shall):
		return fmt.Sprintf("the gate of pod %s opens before it runs %s", pod.Name, shall)
	}
	return ""
}

// judgeTaken: who is taken out of service by the set leaves enough that are available.
func (w *podWatch) judgeTaken(kind watch.EventType, before, pod *corev1.Pod) string {
	gone := kind == watch.Deleted || pod.DeletionTimestamp != nil
	served := pods.IsReady(before) && before.DeletionTimestamp == nil
	if !served || w.notOurs[pod.UID] || !gone && !closed(pod) {
		return ""
	}
	set, available := pod.Labels["app"], 0
	for _, other := range w.pods {
		if ok, _ := pods.Availability(other, 0, other.CreationTimestamp.Time); ok && other.Labels["app"] == set {
			available++
		}
	}
	least := w.wishes[set][0].least
	for _, b := range w.wishes[set] {
		least = min(least, b.least)
	}
	if available < least {
		return fmt.Sprintf("pod %s was taken out of service (gone %t, gate closed %t): %d of set %s are left, %d must be", pod.Name, gone, closed(pod), available, set, least)
	}
	return ""
}

// takeAway has somebody else delete a pod, or evict it.
func (w *podWatch) takeAway(ctx context.Context, pod *corev1.Pod, evict bool) {
	GinkgoHelper()
	w.mu.Lock()
	w.notOurs[pod.UID] = true
	w.mu.Unlock()
	if !evict {
		Expect(admin.Delete(ctx, pod)).To(Succeed())
		return
	}
	before := pod.DeepCopy()
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	Expect(admin.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

// broken tells which promises were not kept.
func (w *podWatch) broken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.faults)
}
