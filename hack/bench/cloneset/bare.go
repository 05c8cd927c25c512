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

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// requests is how many requests the bare client has under way.
const requests = 32

// bare makes only the writes that nobody can do without, as many at once as may be unavailable. Pods with a readiness
// gate, as CloneSets have, cost it two writes at creation (the pod; gate open) and three for an update (gate closed;
// image; gate open), pods without one each.
type bare struct {
	client.Client
	namespace string
	gated     bool
	watch     *watch
	pods      int
	slots     chan struct{}
}

func newBare(c client.Client, ns string, gated bool, w *watch) *bare {
	return &bare{Client: c, namespace: ns, gated: gated, watch: w, slots: make(chan struct{}, requests)}
}

func (b *bare) name() string {
	if b.gated {
		return bareGated
	}
	return "bare client, no gate"
}
func (*bare) agent() string   { return "bare" }
func (*bare) process() string { return "" }

func (b *bare) scale(ctx context.Context, pods int) error {
	b.pods = pods
	return each(ctx, pods, requests, func(ctx context.Context, i int) error {
		t := template()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: nameOf(i), Labels: t.Labels}, Spec: t.Spec}
		if b.gated {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: appsv1beta1.InPlaceUpdateReady}}
		}
		if err := b.Create(ctx, pod); err != nil || !b.gated {
			return err
		}
		return b.gate(ctx, pod.Name, corev1.ConditionTrue)
	})
}

func (b *bare) update(ctx context.Context, image string) error {
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"containers":[{"name":"web","image":%q}]}}`, image))
	return each(ctx, b.pods, (b.pods+3)/4, func(ctx context.Context, i int) error {
		if b.gated {
			if err := b.gate(ctx, nameOf(i), corev1.ConditionFalse); err != nil {
				return err
			}
		}
		err := b.request(func() error { return b.Patch(ctx, b.pod(nameOf(i)), patch) })
		if err == nil && b.gated {
			if err = b.watch.until(ctx, nameOf(i), func(p seen) bool { return p.runs == image }); err == nil {
				err = b.gate(ctx, nameOf(i), corev1.ConditionTrue)
			}
		}
		if err != nil {
			return err
		}
		return b.watch.until(ctx, nameOf(i), func(p seen) bool { return p.runs == image && p.ready })
	})
}

// gate opens or closes the pod's readiness gate. Closing it makes the pod unready in the same write, which spares the kubelet one.
func (b *bare) gate(ctx context.Context, name string, status corev1.ConditionStatus) error {
	also := ""
	if status == corev1.ConditionFalse {
		also = `,{"type":"Ready","status":"False"}`
	}
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":%q}%s]}}`, appsv1beta1.InPlaceUpdateReady, status, also)
	return b.request(func() error {
		return b.Status().Patch(ctx, b.pod(name), client.RawPatch(types.StrategicMergePatchType, body))
	})
}

func (b *bare) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}}
}

func (b *bare) request(do func() error) error {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	return do()
}

func nameOf(i int) string { return fmt.Sprintf("web-%d", i) }

// each calls do for all numbers below n, some at once.
func each(ctx context.Context, n, atOnce int, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}
