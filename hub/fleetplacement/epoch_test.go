// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestEpochIsNeverLowered(t *testing.T) {
	store := &shelf{cm: &corev1.ConfigMap{Data: map[string]string{EpochKey: "5"}}}
	clock := clocktesting.NewFakeClock(epoch)
	e := &Epoch{Reader: store, Writer: store, Namespace: "n", Clock: clock}
	if n, err := e.Current(context.Background()); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	changed, done := make(chan struct{}, 10), make(chan struct{})
	go func() { e.Watch(ctx, func() { changed <- struct{}{} }); close(done) }()
	read := func() {
		for range 2 { // when it waits again it has read
			for !clock.HasWaiters() {
				time.Sleep(time.Millisecond)
			}
			clock.Step(epochInterval)
		}
		for !clock.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
	}
	for _, step := range []struct {
		name    string
		stored  string
		want    int64
		kept    string
		changed int
	}{
		{"deleted", "", 5, "5", 0},
		{"lowered", "3", 5, "3", 0},
		{"mended", "5", 5, "5", 0},
		{"raised", "6", 6, "6", 1},
		{"deleted again", "", 6, "6", 1},
	} {
		store.cm = nil
		if step.stored != "" {
			store.cm = &corev1.ConfigMap{Data: map[string]string{EpochKey: step.stored}}
		}
		read()
		n, err := e.Current(ctx)
		if n != step.want || err != nil || len(changed) != step.changed || store.cm.Data[EpochKey] != step.kept {
			t.Errorf("%s: %d, %v; changed %d times; stored %v", step.name, n, err, len(changed), store.cm.Data)
		}
	}
	cancel()
	<-done
}
