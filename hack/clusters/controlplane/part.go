// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// Part is the control planes as a part of `up`.
func Part() run.Part {
	return run.Part{
		Name: "control planes",
		Needs: func(state.Options) []string {
			return []string{assets.Etcd, assets.APIServer, assets.ControllerManager, assets.Scheduler}
		},
		Up: up,
	}
}

func up(context.Context, *run.Env) error { return nil }
