// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// The node's clock was set back by a day after the next instance had started.
func TestClockSetBack(t *testing.T) {
	r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	r.Status.ContainerStatusSnapshot = snapshotOf("a2", true)
	at := instance("a2", cri.ContainerRunning, 1)
	at.StartedAt = t0.Add(24 * time.Hour)
	p := MakePlan(r, Facts{Newest: map[string]Instance{"a": at}, Now: t0})
	if p.States[0].Phase != succeeded {
		t.Errorf("ready, no minStartedSeconds: %s, next look in %s", p.States[0].Phase, p.Again)
	}
}
