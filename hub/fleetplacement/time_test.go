// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// shelf is a reader with one object on it, or none.
type shelf struct {
	client.Reader
	client.Writer
	lease   *coordinationv1.Lease
	cm      *corev1.ConfigMap
	err     error
	created int
}

func (s *shelf) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.err != nil {
		return s.err
	}
	switch o := into.(type) {
	case *coordinationv1.Lease:
		if s.lease != nil {
			s.lease.DeepCopyInto(o)
			return nil
		}
	case *corev1.ConfigMap:
		if s.cm != nil {
			s.cm.DeepCopyInto(o)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, "x")
}

func (s *shelf) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	s.created++
	s.cm = o.(*corev1.ConfigMap).DeepCopy()
	return nil
}

func lease(at time.Time) *coordinationv1.Lease {
	t := metav1.NewMicroTime(at)
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &t, LeaseDurationSeconds: ptr.To[int32](40)}}
}

func TestFreshnessTellsOnlyWhatTurned(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(epoch)
	reads := &shelf{lease: lease(epoch)}
	told := 0
	f := &Freshness{Reader: reads, Clock: clock, StaleAfter: 40 * time.Second, Turned: func(context.Context, string) { told++ }}
	req := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "m", Name: "flotilla"}}
	for _, step := range []struct {
		name    string
		at      time.Duration
		renewed *time.Duration
		back    *time.Duration
		gone    bool
		told    int
		again   time.Duration
	}{
		{name: "first sight", told: 1, again: 40*time.Second + time.Millisecond},
		{name: "renewed", at: 10 * time.Second, renewed: after(10), told: 1, again: 40*time.Second + time.Millisecond},
		{name: "just not too old", at: 50 * time.Second, told: 1, again: time.Millisecond},
		{name: "too old", at: 50*time.Second + time.Millisecond, told: 2},
		{name: "still too old", at: 60 * time.Second, told: 2},
		{name: "back, its report awaited", at: 70 * time.Second, renewed: after(70), back: after(70), told: 2},
		{name: "reports", at: 75 * time.Second, renewed: after(75), back: after(70), told: 3, again: 40*time.Second + time.Millisecond},
		{name: "an outage seen only in the lease", at: 140 * time.Second, renewed: after(139), back: after(138), told: 4},
		{name: "reports again", at: 148 * time.Second, renewed: after(148), back: after(138), told: 5, again: 40*time.Second + time.Millisecond},
		{name: "gone", at: 149 * time.Second, gone: true, told: 6},
	} {
		clock.SetTime(epoch.Add(step.at))
		if step.renewed != nil {
			reads.lease = lease(epoch.Add(*step.renewed))
			if step.back != nil {
				reads.lease.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(epoch.Add(*step.back)))
			}
		}
		if step.gone {
			reads.lease = nil
		}
		result, err := f.Reconcile(context.Background(), req)
		if err != nil || told != step.told || result.RequeueAfter != step.again {
			t.Errorf("%s: told %d, want %d; again %v, want %v; %v", step.name, told, step.told, result.RequeueAfter, step.again, err)
		}
	}
	reads.err = errors.New("broken")
	if _, err := f.Reconcile(context.Background(), req); err == nil {
		t.Error("an error is lost")
	}
}

func after(seconds int) *time.Duration {
	d := time.Duration(seconds) * time.Second
	return &d
}

func TestEpoch(t *testing.T) {
	store := &shelf{}
	clock := clocktesting.NewFakeClock(epoch)
	e := &Epoch{Reader: store, Writer: store, Namespace: "n", Clock: clock}
	for range 2 {
		if n, err := e.Current(context.Background()); n != 1 || err != nil || store.created != 1 {
			t.Fatal(n, err, store.created)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	changed, done := make(chan struct{}, 10), make(chan struct{})
	go func() { e.Watch(ctx, func() { changed <- struct{}{} }); close(done) }()
	idle := func() {
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
	}
	idle()
	clock.Step(epochInterval) // the same epoch
	idle()
	store.cm.Data[EpochKey] = "5"
	clock.Step(epochInterval)
	<-changed
	if n, err := e.Current(context.Background()); n != 5 || err != nil || len(changed) != 0 {
		t.Error(n, err, len(changed))
	}
	cancel()
	<-done
}

func TestEpochRefusesNonsense(t *testing.T) {
	for _, text := range []string{"", "0", "-1", "x"} {
		store := &shelf{cm: &corev1.ConfigMap{Data: map[string]string{EpochKey: text}}}
		if n, err := (&Epoch{Reader: store, Writer: store}).Current(context.Background()); err == nil || n != 0 {
			t.Errorf("%q gives %d", text, n)
		}
	}
}

func TestPace(t *testing.T) {
	var p pace
	if p.wait("u", epoch) != 0 {
		t.Error("the first write waits")
	}
	p.wrote("u", epoch)
	if got := p.wait("u", epoch.Add(300*time.Millisecond)); got != 700*time.Millisecond {
		t.Error(got)
	}
	if p.wait("u", epoch.Add(2*time.Second)) != 0 || p.wait("v", epoch) != 0 {
		t.Error("waits too long, or for another")
	}
	p.forget("u")
	if p.wait("u", epoch) != 0 {
		t.Error("not forgotten")
	}
}
