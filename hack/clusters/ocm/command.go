// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// CommandName is the subcommand under which the stand-in runs.
const CommandName = "ocm-stand-in"

// NewCommand gives the hidden subcommand that runs the stand-in until its context ends.
func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:    CommandName,
		Short:  "Stand in for Open Cluster Management on a hub and its members",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.Validate(); err != nil {
				return err
			}
			cmd.SilenceUsage = true
			log.SetLogger(klog.NewKlogr())
			return Run(cmd.Context(), *options)
		},
	}
	options.AddFlags(command.Flags())
	return command
}
