// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"github.com/flotilla-sh/flotilla/hack/clusters/components"
	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/fakenodes"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm"
	"github.com/flotilla-sh/flotilla/hack/clusters/ranges"
	"github.com/flotilla-sh/flotilla/hack/clusters/realnodes"
	"github.com/flotilla-sh/flotilla/hack/clusters/registry"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
)

// parts are brought up in this order and taken down in the opposite one.
func parts() []run.Part {
	return []run.Part{
		ranges.Part(),
		controlplane.Part(),
		registry.Part(),
		fakenodes.Part(),
		realnodes.Part(),
		ocm.Part(),
		components.Part(),
	}
}
