// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/lifecycle"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm"
	"github.com/flotilla-sh/flotilla/hack/clusters/progress"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// rootCommand is the whole command line. Subcommands of other packages are added here.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "clusters",
		Short:         "Local clusters: a hub and members as processes on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(upCommand(), downCommand(), statusCommand(), logsCommand(), assetsCommand(), imagesCommand(), registryCommand(), forwardCommand(), ocm.NewCommand())
	return root
}

func nameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", "dev", "name of the set of clusters")
}

func upCommand() *cobra.Command {
	o := state.Options{}
	var zones string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring a set of clusters up, or repair and change the one of that name",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			log.SetLogger(logr.Discard()) // of the client library, whose errors we report ourselves
			o.Zones = state.ParseZones(zones)
			if o.RealNodes > 0 && !cmd.Flags().Changed("fake-nodes") {
				o.FakeNodes = 0
			}
			return lifecycle.Up(cmd.Context(), root, o, cmd.Flags().Changed, progress.New(cmd.ErrOrStderr()))
		},
	}
	nameFlag(cmd, &o.Name)
	f := cmd.Flags()
	f.IntVar(&o.Members, "members", 2, "member clusters")
	f.IntVar(&o.FakeNodes, "fake-nodes", 3, "simulated nodes of each member (0 where only --real-nodes is given)")
	f.IntVar(&o.RealNodes, "real-nodes", 0, "containerd + kubelet nodes of each member; needs root on Linux")
	f.StringVar(&zones, "zones", "a,b", "zones the nodes of each member are put in, in turn")
	f.StringVar(&o.Components, "components", state.ComponentsAll, "our own components to run: all or none")
	f.StringVar(&o.Assets, "assets", "", "folder with ready-made programs (kube-apiserver, etcd, …) to take instead of building them")
	f.StringVar(&o.OCMBinaries, "ocm-binaries", "", "folder with Open Cluster Management's programs to run instead of the stand-in")
	f.IntVar(&o.LeaseSeconds, "lease-seconds", state.DefaultLeaseSeconds,
		"how often members renew their lease on the hub; after 5 times that a member counts as unreachable")
	f.BoolVar(&o.Audit, "audit", false, "log every write to the API servers in logs/CLUSTER-audit.log")
	return cmd
}

func assetsCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "assets [PROGRAM...]",
		Short: "Build programs of the local clusters into the cache, and print their paths; all where none is named",
		RunE: func(cmd *cobra.Command, names []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			if len(names) == 0 {
				names = assets.Names()
			}
			source := assets.Source{Root: root, Dir: dir, Progress: progress.New(cmd.ErrOrStderr())}
			paths, err := source.Ensure(cmd.Context(), names...)
			for _, name := range slices.Sorted(maps.Keys(paths)) {
				fmt.Fprintln(cmd.OutOrStdout(), paths[name])
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "assets", "", "folder with ready-made programs to take instead of building them")
	return cmd
}

func downCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a set of clusters and delete its folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			return lifecycle.Down(cmd.Context(), root, name, progress.New(cmd.ErrOrStderr()))
		},
	}
	nameFlag(cmd, &name)
	return cmd
}

func statusCommand() *cobra.Command {
	var name string
	var list bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show processes, kubeconfigs and ports; exit status 3 if a process died",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			if list {
				return lifecycle.List(root, cmd.OutOrStdout())
			}
			return lifecycle.Status(root, name, cmd.OutOrStdout())
		},
	}
	nameFlag(cmd, &name)
	cmd.Flags().BoolVar(&list, "list", false, "list the names of all sets of clusters instead")
	return cmd
}

func logsCommand() *cobra.Command {
	var name string
	req := lifecycle.LogsRequest{}
	cmd := &cobra.Command{
		Use:   "logs [PROCESS]",
		Short: "Show the log of a process, or of all",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				req.Process = args[0]
			}
			return lifecycle.Logs(cmd.Context(), root, name, req, cmd.OutOrStdout())
		},
	}
	nameFlag(cmd, &name)
	cmd.Flags().IntVarP(&req.Lines, "lines", "n", 20, "last lines to show of each log")
	cmd.Flags().BoolVarP(&req.Follow, "follow", "f", false, "go on showing what is added")
	return cmd
}
