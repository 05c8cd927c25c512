// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// quiet is how long an equal event is held back.
	quiet = 2 * time.Minute
	// remembered bounds how many events are told apart.
	remembered = 4096
	// atOnce is how many events of one reason an object may have at once, and oneMore after what time it may have
	// another: a workload of a thousand pods need not tell a thousand times that it made one.
	atOnce  = 25
	oneMore = 10 * time.Second
)

// Event is one fact about an object. Type is Normal or Warning; Reason and Action are CamelCase.
type Event struct {
	Regarding client.Object
	// FieldPath is the part of the object that the event is about, as spec.containers{web}; empty: all of it. The recorder
	// counts events that differ in nothing but their note as one, with the first one's note: events about parts of one
	// object need this, or Related, to be told apart.
	FieldPath string
	Related   runtime.Object
	Type      string
	Reason    string
	Action    string
	Note      string
}

// Normal makes an event of type Normal.
func Normal(regarding client.Object, reason, action, note string) Event {
	return Event{Regarding: regarding, Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note}
}

// Warning makes an event of type Warning.
func Warning(regarding client.Object, reason, action, note string) Event {
	return Event{Regarding: regarding, Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: note}
}

// Publisher takes events.
type Publisher interface {
	// Publish sends the events which were not sent in the last two minutes. Of many with one object and reason it
	// sends some; the next one that is sent says how many were left out.
	Publish(list ...Event)
}

type publisher struct {
	recorder events.EventRecorder
	clock    clock.PassiveClock
	mu       sync.Mutex
	// seen has the time of each event by its key, talk a ration by object and reason.
	seen, talk *lru.Cache
}

// ration is how much an object may tell for one reason.
type ration struct {
	left   float64
	since  time.Time
	unsaid int
}

// New makes a Publisher over a recorder, as a manager's GetEventRecorder returns.
func New(recorder events.EventRecorder) Publisher { return newAt(recorder, clock.RealClock{}) }

func newAt(recorder events.EventRecorder, c clock.PassiveClock) Publisher {
	return &publisher{recorder: recorder, clock: c, seen: lru.New(remembered), talk: lru.New(remembered)}
}

type key struct{ uid, kind, reason, note string }

func (p *publisher) Publish(list ...Event) {
	for _, e := range list {
		if note, ok := p.note(e); ok {
			p.recorder.Eventf(e.regarding(), e.Related, e.Type, e.Reason, e.Action, "%s", note)
		}
	}
}

// Of is the event about a part of its object.
func (e Event) Of(fieldPath string) Event {
	e.FieldPath = fieldPath
	return e
}

// regarding is the object, or a reference to the part of it. An object of an unknown kind stands for its part.
func (e Event) regarding() runtime.Object {
	if e.FieldPath == "" {
		return e.Regarding
	}
	ref, err := reference.GetReference(scheme.Scheme, e.Regarding)
	if err != nil {
		return e.Regarding
	}
	ref.FieldPath = e.FieldPath
	return ref
}

// note is what to send of an event, if anything.
func (p *publisher) note(e Event) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	k := key{string(e.Regarding.GetUID()), e.Type, e.Reason, e.Note}
	if at, ok := p.seen.Get(k); ok && now.Sub(at.(time.Time)) < quiet {
		return "", false
	}
	p.seen.Add(k, now)
	k.note = ""
	r := &ration{left: atOnce, since: now}
	if have, ok := p.talk.Get(k); ok {
		r = have.(*ration)
	}
	p.talk.Add(k, r)
	return r.spend(e.Note, now)
}

// spend takes one event from the ration.
func (r *ration) spend(note string, now time.Time) (string, bool) {
	r.left = min(r.left+now.Sub(r.since).Seconds()/oneMore.Seconds(), atOnce)
	r.since = now
	if r.left < 1 {
		r.unsaid++
		return "", false
	}
	r.left--
	if r.unsaid > 0 {
		note = fmt.Sprintf("%s (and %d more like this one)", note, r.unsaid)
		r.unsaid = 0
	}
	return note, true
}
