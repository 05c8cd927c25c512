// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// agents play the node agents of all nodes: what is asked for is there after pullTakes, in two writes as real ones make.
type agents struct {
	client client.WithWatch
	cancel context.CancelFunc

	mu      sync.Mutex
	busy    map[string]bool
	highest int
}

func playAgents(ctx context.Context, config *rest.Config) (*agents, error) {
	cfg := rest.CopyConfig(config)
	cfg.UserAgent, cfg.QPS = "played-agents", -1
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: harness.Scheme()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &agents{client: c, cancel: cancel, busy: map[string]bool{}}
	go a.follow(ctx)
	return a, nil
}

func (a *agents) stop() { a.cancel() }

func (a *agents) most() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.highest
}

// follow watches again when a watch ends, which the API server does to one that lags: it begins with all there is.
func (a *agents) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if events, err := a.client.Watch(ctx, &appsv1beta1.NodeImageList{}); err == nil {
			a.drain(ctx, events)
		}
	}
}

func (a *agents) drain(ctx context.Context, events watch.Interface) {
	for e := range events.ResultChan() {
		node, ok := e.Object.(*appsv1beta1.NodeImage)
		if !ok {
			continue
		}
		for image, spec := range node.Spec.Images {
			for i := range spec.Tags {
				a.see(ctx, node, image, &spec.Tags[i])
			}
		}
	}
}

func (a *agents) see(ctx context.Context, node *appsv1beta1.NodeImage, image string, tag *appsv1beta1.ImageTagSpec) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := fmt.Sprintf("%s/%s:%s/%d", node.Name, image, tag.Tag, tag.Version)
	if status := node.TagStatus(image, tag.Tag, tag.Version); status != nil && status.CompletionTime != nil {
		delete(a.busy, key)
		return
	}
	if !a.busy[key] {
		a.busy[key] = true
		a.highest = max(a.highest, len(a.busy))
		go a.pull(ctx, node.Name, image, *tag)
	}
}

func (a *agents) pull(ctx context.Context, node, image string, tag appsv1beta1.ImageTagSpec) {
	now := metav1.Now()
	status := appsv1beta1.ImageTagStatus{Tag: tag.Tag, Version: tag.Version, Phase: appsv1beta1.ImagePhasePulling, StartTime: &now}
	a.tell(ctx, node, image, status)
	select {
	case <-ctx.Done():
	case <-time.After(pullTakes):
	}
	status.Phase, status.Progress, status.CompletionTime, status.ImageID = appsv1beta1.ImagePhaseSucceeded, 100, ptr.To(metav1.Now()), image+"@sha256:1"
	a.tell(ctx, node, image, status)
}

// tell writes the status of a tag, in place of all others.
func (a *agents) tell(ctx context.Context, node, image string, status appsv1beta1.ImageTagStatus) {
	for ctx.Err() == nil {
		obj := &appsv1beta1.NodeImage{}
		if a.client.Get(ctx, client.ObjectKey{Name: node}, obj) != nil {
			return
		}
		old := obj.DeepCopy()
		obj.Status.ImageStatuses = map[string]appsv1beta1.ImageStatus{image: {Tags: []appsv1beta1.ImageTagStatus{status}}}
		if a.client.Status().Patch(ctx, obj, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})) == nil {
			return
		}
	}
}
