// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Env is what a part works with.
type Env struct {
	// Cluster is the state of the set; Cluster.Options is what the user asked for.
	Cluster *state.Cluster
	// Processes starts and stops the set's processes.
	Processes *process.Group
	// Source builds programs.
	Source assets.Source
	// Programs has the paths of the programs that the parts said they need.
	Programs map[string]string
	// Progress tells the user what happens.
	Progress *progress.Reporter
}

// Part is one piece of the clusters.
type Part struct {
	// Name in messages.
	Name string
	// Needs are the programs (names of package assets) that Up will find in Env.Programs. May be nil.
	Needs func(state.Options) []string
	// Up brings the part up or repairs it. It is called at every `up` and must change nothing that is as it should be.
	Up func(context.Context, *Env) error
	// PreDown runs while the set's processes still run, before they are stopped, to take down what they alone can (as the
	// containers of real nodes). Errors are reported and do not keep the rest from being stopped. May be nil.
	PreDown func(context.Context, *Env) error
	// Down removes what stopping the set's processes and deleting its folder leave behind, as network interfaces,
	// mounts and cgroups. It is called after all processes were stopped, also when the last `up` failed half-way, and
	// must not mind when there is nothing to remove. May be nil.
	Down func(context.Context, *Env) error
}
