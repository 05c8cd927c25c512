// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// The stored start is a day ahead: the node's clock was set back while no agent ran.
func TestDeadlineHoldsAfterClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &player{pull: func(context.Context, int, cri.Pull) error { return errors.New("no") }}
		puller := p.puller(1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := order("v1", func(o *Order) {
			o.Deadline, o.Retries, o.Timeout = time.Minute, 1000, time.Second
			o.Began = time.Now().Add(24 * time.Hour)
		})
		start(ctx, puller, o)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if s := stateOf(puller, o.Key); s.CompletionTime == nil {
			t.Errorf("activeDeadlineSeconds 60, after 120 s: %s %q, start %s", s.Phase, s.Message, s.StartTime)
		}
		cancel()
		synctest.Wait()
	})
}
