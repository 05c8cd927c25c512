// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"sync"
	"time"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// Runtime is what pulling needs of a container runtime.
type Runtime interface {
	// PullImage pulls and returns when the image is there.
	PullImage(ctx context.Context, p cri.Pull) (string, error)
	// ImageID is "" for an image that the node does not have.
	ImageID(ctx context.Context, image string) (string, error)
	// Version is a sign of life.
	Version(ctx context.Context) (cri.Version, error)
}

// Connection is where the runtime is got from.
type Connection interface {
	// Current returns the runtime or says why there is none.
	Current() (Runtime, error)
	// Await returns it as soon as there is one; the error is ctx's.
	Await(ctx context.Context) (Runtime, error)
}

// Over makes a Connection of a Connector.
func Over(c *cri.Connector) Connection { return connection{c} }

type connection struct{ *cri.Connector }

func (c connection) Current() (Runtime, error) {
	client, err := c.Connector.Current()
	if err != nil {
		return nil, err
	}
	return client, nil
}

func (c connection) Await(ctx context.Context) (Runtime, error) {
	client, err := c.Connector.Await(ctx)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Credentials finds what images may be pulled with.
type Credentials interface {
	// For returns the credentials for a repository, the best first; none means to pull as nobody.
	For(ctx context.Context, repository string, secrets []v1beta1.ReferenceObject) ([]cri.Auth, error)
	// Forget makes the next call read these Secrets anew.
	Forget(secrets []v1beta1.ReferenceObject)
}

// Puller has the workers. Its methods must not be called concurrently.
type Puller struct {
	Node        string
	Runtime     Connection
	Credentials Credentials
	Events      events.Publisher
	Now         func() time.Time
	// Workers is how many images are pulled at once; 0 or less: no bound.
	Workers int
	// Changed is called when the state of a worker changed, from any goroutine. It must not block.
	Changed func()

	workers map[Key]*worker
	places  chan struct{}
	// looking is held by who looks how far it is.
	looking sync.Mutex
}

// Carry stops and starts workers. They end with ctx, which is that of the process.
func (p *Puller) Carry(ctx context.Context, plan Plan) {
	if p.workers == nil {
		p.workers = map[Key]*worker{}
		if p.Workers > 0 {
			p.places = make(chan struct{}, p.Workers)
		}
	}
	for _, k := range plan.Stop {
		if w := p.workers[k]; w != nil {
			w.cancel()
			delete(p.workers, k)
		}
	}
	for _, order := range plan.Update {
		if w := p.workers[order.Key]; w != nil {
			w.update(order)
		}
	}
	for _, order := range plan.Start {
		if w := p.workers[order.Key]; w != nil {
			w.cancel()
		}
		ctx, cancel := context.WithCancel(ctx)
		w := &worker{puller: p, cancel: cancel, order: order, status: v1beta1.ImageTagStatus{
			Tag: order.Tag, Version: order.Version, Phase: v1beta1.ImagePhaseWaiting, Progress: order.Reached,
		}}
		p.workers[order.Key] = w
		go w.run(ctx)
	}
}

// Work returns how far each worker is.
func (p *Puller) Work() map[Key]Work {
	out := make(map[Key]Work, len(p.workers))
	for k, w := range p.workers {
		out[k] = w.work()
	}
	return out
}

func (p *Puller) changed() { p.Changed() }
