// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// quiet is how long an equal event is held back.
	quiet = 2 * time.Minute
	// remembered bounds how many events are told apart.
	remembered = 4096
)

// Event is one fact about an object. Type is Normal or Warning; Reason and Action are CamelCase.
type Event struct {
	Regarding client.Object
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
	// Publish sends the events which were not sent in the last two minutes.
	Publish(list ...Event)
}

type publisher struct {
	recorder events.EventRecorder
	clock    clock.PassiveClock
	mu       sync.Mutex
	seen     *lru.Cache
}

// New makes a Publisher over a recorder, as a manager's GetEventRecorder returns.
func New(recorder events.EventRecorder) Publisher { return newAt(recorder, clock.RealClock{}) }

func newAt(recorder events.EventRecorder, c clock.PassiveClock) Publisher {
	return &publisher{recorder: recorder, clock: c, seen: lru.New(remembered)}
}

type key struct{ uid, kind, reason, note string }

func (p *publisher) Publish(list ...Event) {
	for _, e := range list {
		if p.fresh(e) {
			p.recorder.Eventf(e.Regarding, e.Related, e.Type, e.Reason, e.Action, "%s", e.Note)
		}
	}
}

func (p *publisher) fresh(e Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{string(e.Regarding.GetUID()), e.Type, e.Reason, e.Note}
	now := p.clock.Now()
	if at, ok := p.seen.Get(k); ok && now.Sub(at.(time.Time)) < quiet {
		return false
	}
	p.seen.Add(k, now)
	return true
}
