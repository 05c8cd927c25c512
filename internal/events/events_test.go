// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// recorded keeps what events are about.
type recorded []string

//nolint:revive // the recorder's own signature
func (r *recorded) Eventf(regarding, related runtime.Object, _, _, _, _ string, _ ...any) {
	text := fmt.Sprintf("%T", regarding)
	if ref, ok := regarding.(*corev1.ObjectReference); ok {
		text = ref.Kind + " " + ref.Name + " " + ref.FieldPath
	}
	if related != nil {
		text += " related"
	}
	*r = append(*r, text)
}

// The recorder counts events about the same thing as one: two containers of a pod are not the same thing.
func TestEventsAboutParts(t *testing.T) {
	var rec recorded
	p := newAt(&rec, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "1"}}
	unknown := &metav1.PartialObjectMetadata{}
	p.Publish(Normal(pod, "Killing", "Stop", "web").Of("spec.containers{web}"), Normal(pod, "Killing", "Stop", "pod"), Normal(unknown, "Killing", "Stop", "x").Of("y"))
	want := []string{"Pod web-1 spec.containers{web}", "*v1.Pod", "*v1.PartialObjectMetadata"}
	if d := cmp.Diff(want, []string(rec)); d != "" {
		t.Error(d)
	}
}

// A thousand pods are made: the first are told, the next one later tells how many were not.
func TestPublishRations(t *testing.T) {
	rec := events.NewFakeRecorder(100)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := newAt(rec, clock)
	set := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	for i := range 1000 {
		p.Publish(Normal(set, "Created", "Create", fmt.Sprint("made ", i)))
	}
	p.Publish(Warning(set, "Failed", "Create", "something else"))
	if n := len(rec.Events); n != atOnce+1 {
		t.Fatalf("%d events", n)
	}
	clock.SetTime(time.Unix(0, 0).Add(oneMore))
	for range atOnce + 1 {
		<-rec.Events
	}
	p.Publish(Normal(set, "Created", "Create", "made another"), Normal(set, "Created", "Create", "made a last one"))
	if got := <-rec.Events; len(rec.Events) != 0 || got != "Normal Created made another (and 975 more like this one)" {
		t.Errorf("%q and %d more", got, len(rec.Events))
	}
}
