// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestPublishHoldsBackEqualEvents(t *testing.T) {
	rec := events.NewFakeRecorder(10)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := newAt(rec, clock)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	e := Normal(pod, "Created", "Create", "made p")
	p.Publish(e, e)
	if n := len(rec.Events); n != 1 {
		t.Fatalf("%d events, want 1", n)
	}
	p.Publish(Warning(pod, "Failed", "Create", "100% wrong"))
	clock.SetTime(time.Unix(121, 0))
	p.Publish(e)
	if n := len(rec.Events); n != 3 {
		t.Fatalf("%d events, want 3", n)
	}
}
