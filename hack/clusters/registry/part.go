// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/flotilla-sh/flotilla/hack/clusters/images"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// processName is the registry's process; its port is reserved under the same name.
const processName = "registry"

// Part is the registry as a part of `up`. Its address is in the file `registry` of the set's folder.
func Part() run.Part {
	return run.Part{Name: "image registry", Up: up}
}

// Address is where the registry of the set listens: host:port.
func Address(c *state.Cluster) (string, error) {
	port, err := c.Port(processName)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

func up(ctx context.Context, env *run.Env) error {
	programs := env.Cluster.Path("bin", "samples")
	if err := images.BuildSamples(ctx, env.Cluster.Root, programs); err != nil {
		return err
	}
	list, err := images.Samples(programs)
	if err != nil {
		return err
	}
	address, err := Address(env.Cluster)
	if err != nil {
		return err
	}
	self, err := env.Processes.Self()
	if err != nil {
		return err
	}
	if _, err := env.Processes.Ensure(ctx, process.Spec{
		Name: processName, Role: process.Network, Path: self,
		Args:        []string{"registry", "--listen", address, "--samples", programs},
		Fingerprint: fingerprint(list),
		Ready:       process.HTTPReady(fmt.Sprintf("http://%s/v2/", address), nil),
	}); err != nil {
		return err
	}
	return state.WriteFile(env.Cluster.Path("registry"), []byte(address+"\n"), 0o644)
}

// fingerprint changes when any image does.
func fingerprint(list []images.Image) string {
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, "%s@%s\n", i.Name(), i.Digest)
	}
	return b.String()
}
