// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// row is what one change cost.
type row struct {
	Change           string  `json:"change"`
	Slices           int     `json:"slices"`
	SecondsToSlices  float64 `json:"secondsToLastSlice"`
	SecondsToSettled float64 `json:"secondsToSettled"`
	ReconcileSeconds float64 `json:"reconcileSeconds"`
	CPUSeconds       float64 `json:"hubCPUSeconds"`
	SliceWrites      int     `json:"sliceWrites"`
	OtherWrites      int     `json:"otherWrites"`
	RSS              float64 `json:"hubRSSMiB"`
	HighestRSS       float64 `json:"hubHighestRSSMiB"`
}

// timeout bounds one change.
const timeout = time.Minute

// step is one change: want is the number of clusters and replicas it leads to.
type step struct {
	name     string
	do       func(context.Context) error
	clusters int
	replicas int32
}

func (b *bench) measure(ctx context.Context) ([]row, error) {
	n := b.replicas
	steps := []step{
		{"placed", b.create, b.members.count(), n},
		{"scaled up by 20 %", b.scale(n + n/5), b.options.members, n + n/5},
		{"scaled down by 20 %", b.scale(n), b.options.members, n},
		{"new image", b.image("web:2"), b.options.members, n},
		{"cluster added", func(ctx context.Context) error { return b.join(ctx, b.options.members) }, b.options.members + 1, n},
		{"cluster removed", b.leave(0), b.options.members, n},
		{"hub killed and started", b.restart, b.options.members, n},
	}
	var rows []row
	for _, s := range steps {
		r, err := b.run(ctx, s)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	rest, err := b.rest(ctx)
	if err != nil {
		return rows, err
	}
	floor, err := b.floor(ctx)
	return append(rows, rest, floor), err
}

func (m *members) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.clusters)
}

func (b *bench) create(ctx context.Context) error {
	return errors.Join(b.admin.Create(ctx, workload(b.replicas)), b.admin.Create(ctx, placed()))
}

func (b *bench) scale(n int32) func(context.Context) error {
	return b.patch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
}

func (b *bench) image(image string) func(context.Context) error {
	return func(ctx context.Context) error {
		ud := &appsv1beta1.UnitedDeployment{}
		if err := b.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, ud); err != nil {
			return err
		}
		old := ud.DeepCopy()
		ud.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = image
		return b.admin.Patch(ctx, ud, client.MergeFrom(old))
	}
}

func (b *bench) patch(body string) func(context.Context) error {
	return func(ctx context.Context) error {
		ud := &appsv1beta1.UnitedDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		return b.admin.Patch(ctx, ud, client.RawPatch(types.MergePatchType, []byte(body)))
	}
}

func (b *bench) leave(i int) func(context.Context) error {
	return func(ctx context.Context) error {
		mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: clusterName(i)}}
		return b.admin.Patch(ctx, mc, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"fleet":null}}}`)))
	}
}

func (b *bench) restart(ctx context.Context) error {
	b.hub.stop()
	return b.hub.start(ctx)
}

// run makes one change and waits until it is in all slices, and until the hub's status is settled.
func (b *bench) run(ctx context.Context, s step) (row, error) {
	say("%s", s.name)
	before, _ := b.hub.reconcileSeconds()
	cpu, killed := b.hub.cpuSeconds(), s.name == "hub killed and started"
	old := b.members.snapshot()
	began := time.Now()
	if err := s.do(ctx); err != nil {
		return row{}, fmt.Errorf("%s: %w", s.name, err)
	}
	if killed {
		before, cpu = 0, 0
	}
	r := row{Change: s.name}
	if err := b.wait(ctx, s.name, func() bool { return b.settled(ctx, s) }); err != nil {
		return r, err
	}
	r.SecondsToSettled = time.Since(began).Seconds()
	for cluster, now := range b.members.snapshot() {
		if now.gen != old[cluster].gen {
			r.Slices++
			r.SecondsToSlices = max(r.SecondsToSlices, now.changed.Sub(began).Seconds())
		}
	}
	after, err := b.hub.reconcileSeconds()
	if err != nil {
		return r, err
	}
	r.ReconcileSeconds, r.CPUSeconds = after-before, b.hub.cpuSeconds()-cpu
	r.RSS, r.HighestRSS = b.hub.memory()
	b.count(&r, began)
	return r, nil
}

func (b *bench) count(r *row, since time.Time) {
	for _, w := range b.server.Writes(b.down, hubAgent, since) {
		if strings.HasPrefix(w.Resource, "fleetslices") {
			r.SliceWrites++
		} else {
			r.OtherWrites++
		}
	}
}

func (b *bench) wait(ctx context.Context, what string, done func() bool) error {
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if done() {
			return nil
		}
	}
	return fmt.Errorf("%s: not done within %v; %s", what, timeout, b.state(ctx))
}

// state says where things stand.
func (b *bench) state(ctx context.Context) string {
	var replicas int32
	now := b.members.snapshot()
	for _, one := range now {
		replicas += one.replicas
	}
	p := &fleetv1alpha1.FleetPlacement{}
	if err := b.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, p); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%d slices of %d replicas, status %d/%d clusters, %d ready", len(now), replicas, p.Status.AppliedClusters, p.Status.SelectedClusters, p.Status.ReadyReplicas)
	for _, c := range p.Status.Conditions {
		text += fmt.Sprintf("\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	log, _ := os.ReadFile(b.hub.log)
	return text + "\n" + string(log[max(0, len(log)-4000):])
}

// settled tells that slices and status say what the change leads to.
func (b *bench) settled(ctx context.Context, s step) bool {
	ud, p := &appsv1beta1.UnitedDeployment{}, &fleetv1alpha1.FleetPlacement{}
	key := client.ObjectKey{Namespace: namespace, Name: "web"}
	if errors.Join(b.admin.Get(ctx, key, ud), b.admin.Get(ctx, key, p)) != nil || !b.written(s, ud.Status.UpdatedRevision) {
		return false
	}
	if seconds, err := b.hub.reconcileSeconds(); err != nil || seconds == 0 {
		return false // just started
	}
	updated := ud.Status.ObservedGeneration == ud.Generation && ud.Status.UpdatedReadyReplicas == s.replicas && ud.Status.CurrentRevision == ud.Status.UpdatedRevision
	return updated && int(p.Status.SelectedClusters) == s.clusters && int(p.Status.AppliedClusters) == s.clusters
}

// written tells that the slices are as many, of as many replicas and of the revision as they should be.
func (b *bench) written(s step, revision string) bool {
	now := b.members.snapshot()
	var total int32
	for _, one := range now {
		total += one.replicas
		if one.revision != revision {
			return false
		}
	}
	return len(now) == s.clusters && total == s.replicas
}

// rest watches the hub do nothing.
func (b *bench) rest(ctx context.Context) (row, error) {
	const long = 30 * time.Second
	time.Sleep(3 * time.Second)
	say("at rest for %v", long)
	before, _ := b.hub.reconcileSeconds()
	cpu, began := b.hub.cpuSeconds(), time.Now()
	select {
	case <-ctx.Done():
		return row{}, ctx.Err()
	case <-time.After(long):
	}
	r := row{Change: fmt.Sprintf("at rest for %v", long)}
	after, err := b.hub.reconcileSeconds()
	r.ReconcileSeconds, r.CPUSeconds = after-before, b.hub.cpuSeconds()-cpu
	r.RSS, r.HighestRSS = b.hub.memory()
	b.count(&r, began)
	return r, err
}

// floor makes the same slice writes with a bare client, as many at a time as the hub.
func (b *bench) floor(ctx context.Context) (row, error) {
	say("the floor: %d bare slice writes", b.options.members)
	data, err := json.Marshal(workload(b.replicas))
	if err != nil {
		return row{}, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, b.options.members)
	tokens := make(chan struct{}, 16)
	for i := range b.options.members {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			body := fmt.Sprintf(`{"apiVersion":"fleet.kruise.io/v1alpha1","kind":"FleetSlice","metadata":{"name":"floor","namespace":%q},"spec":{"source":{"apiVersion":"v1","kind":"Floor","name":"floor","uid":"0"},"objects":[%s]}}`, clusterName(i), data)
			s := &fleetv1alpha1.FleetSlice{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName(i), Name: "floor"}}
			errs[i] = b.admin.Patch(ctx, s, client.RawPatch(types.ApplyPatchType, []byte(body)), client.FieldOwner("floor"), client.ForceOwnership)
		})
	}
	wg.Wait()
	r := row{Change: "floor: the slice writes alone", Slices: b.options.members, SliceWrites: b.options.members, SecondsToSlices: time.Since(began).Seconds()}
	return r, errors.Join(errs...)
}
