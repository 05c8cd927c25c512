// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

func TestScheduleClockSetBack(t *testing.T) {
	now := started
	p := &corev1.Probe{PeriodSeconds: 10, InitialDelaySeconds: 5}
	_, due, wait := schedule(view{ip: "10.0.0.5", instance: "c://1", started: now.Add(24 * time.Hour)}, p, lastRun{}, now)
	if !due && wait > time.Minute {
		t.Errorf("not probed for %s", wait)
	}
}

// What containerd says of a command that is not there has an ID in it which is another each time.
func TestUnclearMessageIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pass(time.Hour)
		b.set(func(context.Context) outcome {
			id := make([]byte, 32)
			_, _ = rand.Read(id)
			return outcome{err: errors.New("ExecSync: rpc error: code = Unknown desc = failed to exec in container: failed to start exec \"" + hex.EncodeToString(id) + "\": OCI runtime exec failed: exec: \"nope\": executable file not found in $PATH")}
		})
		b.aimAt(aimed(marked, "c1", time.Now().Add(-time.Minute), 1))
		changes := 0
		for range 60 {
			pass(time.Second)
			select {
			case <-b.changed:
				changes++
			default:
			}
		}
		if changes > 2 {
			t.Errorf("%d status writes asked for in a minute in which nothing changed", changes)
		}
	})
}

func TestRefusedEndWithTheObject(t *testing.T) {
	scheme := runtime.NewScheme()
	_ = corev1.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	npp := &v1alpha1.NodePodProbe{}
	npp.Name = "n"
	npp.Spec.PodProbes = []v1alpha1.PodProbe{entryOf("gone", "u", probeOf("m#1", "main"))}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(npp).WithStatusSubresource(npp).Build()
	b := newBench(t, 1)
	r := &Reconciler{Client: c, Node: "n", Now: time.Now, process: b.ctx, pool: b.pool, patience: time.Hour}
	if _, err := r.Reconcile(t.Context(), r.request()); err != nil {
		t.Fatal(err)
	}
	if got := gaugeValue(string(NotHere)); got != 1 {
		t.Fatalf("refused: %v", got)
	}
	if err := c.Delete(t.Context(), npp); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), r.request()); err != nil {
		t.Fatal(err)
	}
	if got := gaugeValue(string(NotHere)); got != 0 {
		t.Errorf("%v refused of an object that is gone", got)
	}
}

func gaugeValue(reason string) float64 {
	var m dto.Metric
	_ = refusedGauge.WithLabelValues(reason).Write(&m)
	return m.GetGauge().GetValue()
}
