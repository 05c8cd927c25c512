// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// settled is how long a connection must hold for the next search to come at once: a runtime that answers and hangs up is
// searched with pauses, as one that does not answer.
const settled = 5 * time.Second

// State is where a Connector stands, see the table in the package comment.
type State string

// The states of a Connector.
const (
	Searching State = "Searching"
	Up        State = "Up"
	Lost      State = "Lost"
)

// Status is the state with what belongs to it.
type Status struct {
	State State
	// Reason says why there is no runtime; "" while Up.
	Reason string
	// Endpoint and Runtime are those in use, or while Lost those last in use.
	Endpoint string
	Runtime  Version
}

// next is the state that follows when a search or a connection ended with err.
func next(s State, err error) State {
	switch {
	case err == nil:
		return Up
	case s == Searching:
		return Searching
	default:
		return Lost
	}
}

// Connector keeps a connection to the node's runtime, finding it anew whenever it is lost.
type Connector struct {
	find   func(context.Context) (*Client, error)
	log    logr.Logger
	period time.Duration
	pause  wait.Backoff
	clock  clock.PassiveClock

	mu          sync.Mutex
	client      *Client
	status      Status
	subscribers []chan Status
	// changed is closed and made anew when the client changes.
	changed chan struct{}
}

// NewConnector makes a Connector that searches with finder once it is started.
func NewConnector(finder Finder, log logr.Logger) *Connector {
	return &Connector{
		find:   finder.Find,
		log:    log,
		period: 10 * time.Second,
		pause:  wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 16, Cap: 5 * time.Second},
		clock:  clock.RealClock{},
		status: Status{State: Searching, Reason: "the search has not begun"},

		changed: make(chan struct{}),
	}
}

// Current returns the connection in use, or an ErrUnavailable that says why there is none. A caller keeps it
// for one piece of work only.
func (c *Connector) Current() (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, c.status.Reason)
	}
	return c.client, nil
}

// Await returns the connection in use, as soon as there is one; the error is ctx's.
func (c *Connector) Await(ctx context.Context) (*Client, error) {
	for {
		c.mu.Lock()
		client, changed := c.client, c.changed
		c.mu.Unlock()
		if client != nil {
			return client, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// Status returns the present status.
func (c *Connector) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Subscribe returns a channel that carries the present status and then the newest after each change. A reader
// that is slow misses those in between, never the last.
func (c *Connector) Subscribe() <-chan Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan Status, 1)
	ch <- c.status
	c.subscribers = append(c.subscribers, ch)
	return ch
}

// Start keeps the connection until ctx ends; it returns nil then and never any other way.
func (c *Connector) Start(ctx context.Context) error {
	pause := c.pause
	for ctx.Err() == nil {
		if c.connect(ctx) >= settled {
			pause = c.pause
			continue // with a search at once
		}
		sleep(ctx, pause.Step())
	}
	return nil
}

// connect searches, and returns how long the connection that was found held: 0 without one.
func (c *Connector) connect(ctx context.Context) time.Duration {
	client, err := c.find(ctx)
	c.set(client, err)
	if err != nil {
		return 0
	}
	began := c.clock.Now()
	err = client.WaitLost(ctx, c.period)
	held := c.clock.Now().Sub(began)
	c.set(nil, err)
	_ = client.Close() // it is of no further use, whatever Close says
	return held
}

// NeedLeaderElection is false: every node has its own runtime.
func (c *Connector) NeedLeaderElection() bool { return false }

// set notes the outcome of a search (a client or an error) or the end of a connection (an error).
func (c *Connector) set(client *Client, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.status
	status := Status{State: next(old.State, err), Endpoint: old.Endpoint, Runtime: old.Runtime}
	if client != nil {
		status.Endpoint, status.Runtime = client.Endpoint(), client.Runtime()
		connects.Inc()
	}
	if err != nil {
		status.Reason = err.Error()
	}
	if c.client != client {
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.client, c.status = client, status
	if status == old {
		return
	}
	c.log.Info("Container runtime", "state", status.State, "runtime", status.Runtime.Name,
		"version", status.Runtime.Version, "endpoint", status.Endpoint, "reason", status.Reason)
	measure(status)
	for _, ch := range c.subscribers {
		publish(ch, status)
	}
}

// publish puts the status in the channel in place of one that was not read yet. Only set sends, under the lock.
func publish(ch chan Status, status Status) {
	select {
	case <-ch:
	default:
	}
	ch <- status
}

func measure(s Status) {
	runtimeInfo.Reset()
	if s.State != Up {
		runtimeUp.Set(0)
		return
	}
	runtimeUp.Set(1)
	runtimeInfo.WithLabelValues(s.Runtime.Name, s.Runtime.Version, s.Endpoint).Set(1)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
