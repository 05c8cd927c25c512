// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// underway are the stops under way, one for a pod at most: as many as the node has pods, and no more.
type underway struct {
	// process is the context of stops, which outlive the pass that begins them; ended is told the pod of each at its end.
	process context.Context //nolint:containedctx // stops outlive a pass
	ended   func(pod types.NamespacedName)

	mu   sync.Mutex
	pods map[types.NamespacedName]*end
}

// end is the end of a stop.
type end struct {
	come bool
	err  error
}

// look tells whether a stop is under way for a pod. Of one that has come to its end it returns the error, once.
func (u *underway) look(pod types.NamespacedName) (busy bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := u.pods[pod]
	if e == nil || !e.come {
		return e != nil, nil
	}
	delete(u.pods, pod)
	return false, e.err
}

// begin carries out a stop for a pod that has none under way. Passes of one pod follow one another, so that nothing comes
// between the look and this.
func (u *underway) begin(pod types.NamespacedName, carryOut func(context.Context) error) {
	e := &end{}
	u.mu.Lock()
	if u.pods == nil {
		u.pods = map[types.NamespacedName]*end{}
	}
	u.pods[pod] = e
	u.mu.Unlock()
	go func() {
		err := carryOut(u.process)
		u.mu.Lock()
		e.come, e.err = true, err
		u.mu.Unlock()
		u.ended(pod)
	}()
}
