// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

// Topology is what a Source needs to know of the clusters that OCM shall join.
type Topology struct {
	HubKubeconfig string
	Members       []Member
	// Options carries further settings; its kubeconfigs are ignored.
	Options Options
}

// Process is a program to start and to keep running.
type Process struct {
	// Name is unique among the processes of a Source, and fit for a file name.
	Name string
	Path string
	Args []string
}

// Source names the processes that give a hub and its members Open Cluster
// Management, in the order in which to start them. The caller starts, watches
// and stops them. Each must be able to run before its API server answers.
type Source interface {
	Processes(Topology) ([]Process, error)
}

// StandIn is the Source that runs this package, in one process.
type StandIn struct {
	// Executable is a program with the command of NewCommand.
	Executable string
}

// Processes gives the one process of the stand-in.
func (s StandIn) Processes(t Topology) ([]Process, error) {
	options := t.Options
	options.HubKubeconfig, options.Members = t.HubKubeconfig, t.Members
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return []Process{{
		Name: CommandName, Path: s.Executable, Args: append([]string{CommandName}, options.Args()...),
	}}, nil
}
