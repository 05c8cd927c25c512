// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workers is how many requests the bare client has under way.
const workers = 32

// bare makes only the writes that nobody can do without: one create, and one patch of the image, for each pod. It
// updates a share of the pods at a time, as the others do.
type bare struct {
	client.Client
	namespace string
	ready     func(ctx context.Context, image string, least int) error
	pods      int
}

func (*bare) name() string    { return "bare client" }
func (*bare) agent() string   { return "bare" }
func (*bare) process() string { return "" }

func (b *bare) scale(ctx context.Context, pods int) error {
	b.pods = pods
	return each(ctx, 0, pods, func(ctx context.Context, i int) error {
		t := template()
		return b.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: nameOf(i), Labels: t.Labels}, Spec: t.Spec})
	})
}

func (b *bare) update(ctx context.Context, image string) error {
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"containers":[{"name":"web","image":%q}]}}`, image))
	share := (b.pods + 3) / 4
	for from := 0; from < b.pods; from += share {
		to := min(from+share, b.pods)
		err := each(ctx, from, to, func(ctx context.Context, i int) error {
			return b.Patch(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: nameOf(i)}}, patch)
		})
		if err != nil {
			return err
		}
		if err := b.ready(ctx, image, to); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(i int) string { return fmt.Sprintf("web-%d", i) }

// each calls do for all numbers from one to below another, some at once.
func each(ctx context.Context, from, to int, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := from; i < to; i++ {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}
