// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// probeTimeout bounds the questions to one candidate, so that a hung socket does not hold up the search.
const probeTimeout = 3 * time.Second

// Finder looks for the runtime of this node.
type Finder struct {
	// Explicit is the socket the user named, see Candidates; "" to look for one.
	Explicit string
	// Dirs are the directories that hold the host's sockets.
	Dirs []string
	// KubeletRuntime returns the name of the runtime which the kubelet reported, "" when not known. It is asked
	// at every search, and only when no socket was named. May be nil.
	KubeletRuntime func(context.Context) string
}

// Find connects to the runtime of this node, or says for every candidate why it is not that.
func (f Finder) Find(ctx context.Context) (*Client, error) {
	endpoints := f.present()
	clients := make([]*Client, len(endpoints))
	probes := make([]Probe, len(endpoints))
	var wg sync.WaitGroup
	for i, endpoint := range endpoints {
		wg.Go(func() { clients[i], probes[i] = probe(ctx, endpoint) })
	}
	wg.Wait()
	chosen, err := Choose(probes, f.kubelets(ctx))
	for i, c := range clients {
		if c != nil && i != chosen {
			_ = c.Close() // it served to ask only
		}
	}
	if err != nil {
		return nil, err
	}
	return clients[chosen], nil
}

func (f Finder) kubelets(ctx context.Context) string {
	if f.Explicit != "" || f.KubeletRuntime == nil {
		return ""
	}
	return f.KubeletRuntime(ctx)
}

// present returns the candidates whose sockets are there; a named one always, so that its absence is told.
func (f Finder) present() []string {
	all := Candidates(f.Explicit, f.Dirs)
	if f.Explicit != "" {
		return all
	}
	var out []string
	for _, endpoint := range all {
		if isSocket(endpoint) == nil {
			out = append(out, endpoint)
		}
	}
	return out
}

func probe(ctx context.Context, endpoint string) (*Client, Probe) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	p := Probe{Endpoint: endpoint}
	if p.Err = isSocket(endpoint); p.Err != nil {
		return nil, p
	}
	c, err := Dial(ctx, endpoint)
	if err != nil {
		p.Err = explain(err)
		return nil, p
	}
	p.Version = c.Runtime()
	sandboxes, err := c.Sandboxes(ctx)
	if err != nil {
		p.Err = errors.Join(err, c.Close())
		return nil, p
	}
	for _, s := range sandboxes {
		if s.Pod.UID != "" {
			p.Sandboxes++
		}
	}
	return c, p
}

// isSocket returns nil when the endpoint is a unix socket that exists, or not a unix endpoint at all.
func isSocket(endpoint string) error {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the socket is not there")
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return errors.New("the file is not a socket")
	}
	return nil
}

// explain says for users why a socket is of no use.
func explain(err error) error {
	failed, ok := errors.AsType[*callError](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, ErrUnsupported):
		return errors.New("the peer does not serve CRI v1 (its CRI is off, or the runtime is too old)")
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("nobody answers (%s)", failed.words)
	default:
		return err
	}
}
