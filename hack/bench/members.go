// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// renewEvery is how often each member renews its lease, as real agents do.
const renewEvery = 10 * time.Second

// members are all simulated members: one watch over all slices, and every slice is reported at once as
// applied with all pods ready.
type members struct {
	client client.Client
	work   chan *fleetv1alpha1.FleetSlice

	mu       sync.Mutex
	clusters []string
	slices   map[string]seen
}

// seen is what was last seen of one cluster's slice.
type seen struct {
	at       time.Time
	changed  time.Time // when its generation was first seen
	gen      int64
	replicas int32
	revision string
}

func startMembers(ctx context.Context, t *teardown, cfg *rest.Config) (*members, error) {
	cfg.UserAgent = "bench-members"
	c, err := client.New(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, err
	}
	m := &members{client: c, slices: map[string]seen{}, work: make(chan *fleetv1alpha1.FleetSlice, 10000)}
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	watching, err := cache.New(cfg, cache.Options{Scheme: scheme()})
	if err != nil {
		return nil, err
	}
	go func() { _ = watching.Start(ctx) }() // ends with the context
	informer, err := watching.GetInformer(ctx, &fleetv1alpha1.FleetSlice{})
	if err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(m); err != nil {
		return nil, err
	}
	for range 8 {
		go func() {
			for {
				select {
				case s := <-m.work:
					m.act(ctx, s)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	go m.renewAll(ctx)
	return m, nil
}

// OnAdd implements cache.ResourceEventHandler.
func (m *members) OnAdd(o any, _ bool) { m.OnUpdate(nil, o) }

// OnUpdate implements cache.ResourceEventHandler.
func (m *members) OnUpdate(_, o any) {
	s, ok := o.(*fleetv1alpha1.FleetSlice)
	if !ok {
		return
	}
	now := seen{at: time.Now(), gen: s.Generation, revision: s.Spec.Source.Revision}
	for _, part := range s.Spec.Split {
		now.replicas += part.Replicas
	}
	now.changed = now.at
	m.mu.Lock()
	if before := m.slices[s.Namespace]; before.gen == now.gen {
		now.changed = before.changed
	}
	m.slices[s.Namespace] = now
	m.mu.Unlock()
	m.work <- s
}

// OnDelete implements cache.ResourceEventHandler.
func (m *members) OnDelete(o any) {
	if s, ok := o.(*fleetv1alpha1.FleetSlice); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.slices, s.Namespace)
	}
}

// act reports a slice that is new, and lets go of one that is being deleted.
func (m *members) act(ctx context.Context, s *fleetv1alpha1.FleetSlice) {
	if !s.DeletionTimestamp.IsZero() {
		if len(s.Finalizers) > 0 {
			_ = m.client.Patch(ctx, s, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":[]}}`)))
		}
		return
	}
	if s.Status.ObservedGeneration == s.Generation {
		return
	}
	reported := s.DeepCopy()
	reported.Status.ObservedGeneration = s.Generation
	reported.Status.ObjectGeneration, reported.Status.ObjectObservedGeneration = s.Generation, s.Generation
	reported.Status.Subsets = nil
	for _, part := range s.Spec.Split {
		reported.Status.Subsets = append(reported.Status.Subsets, fleetv1alpha1.SubsetCounters{
			Subset: part.Subset, Replicas: part.Replicas, ReadyReplicas: part.Replicas, UpdatedReplicas: part.Replicas, UpdatedReadyReplicas: part.Replicas,
		})
	}
	meta.SetStatusCondition(&reported.Status.Conditions, metav1.Condition{Type: fleetv1alpha1.SliceConditionApplied, Status: metav1.ConditionTrue, Reason: fleetv1alpha1.SliceReasonApplied})
	_ = m.client.Status().Patch(ctx, reported, client.MergeFrom(s)) // a later event tries again
}

func (m *members) renewAll(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		clusters := append([]string(nil), m.clusters...)
		m.mu.Unlock()
		for _, c := range clusters {
			_ = m.touch(ctx, c) // the next round tries again
			time.Sleep(renewEvery / time.Duration(len(clusters)+1))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// renew makes a cluster's lease and keeps it fresh from now on.
func (m *members) renew(ctx context.Context, cluster string) error {
	if err := m.touch(ctx, cluster); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters = append(m.clusters, cluster)
	return nil
}

func (m *members) touch(ctx context.Context, cluster string) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: fleetv1alpha1.AddOnName}}
	now := metav1.NowMicro()
	err := m.client.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	lease.Spec.RenewTime = &now
	if apierrors.IsNotFound(err) {
		return m.client.Create(ctx, lease)
	}
	if err != nil {
		return err
	}
	return m.client.Update(ctx, lease)
}

// snapshot copies what was seen.
func (m *members) snapshot() map[string]seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]seen, len(m.slices))
	for k, v := range m.slices {
		out[k] = v
	}
	return out
}
