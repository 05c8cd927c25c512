// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log"

	"github.com/spf13/cobra"

	"github.com/flotilla-sh/flotilla/hack/clusters/forward"
)

// forwardCommand is what the process `forwarder` of a set runs.
func forwardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "forward LISTEN=TARGET...",
		Short:  "Pass TCP connections on (run by up)",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rules := make([]forward.Rule, len(args))
			for i, arg := range args {
				var err error
				if rules[i], err = forward.ParseRule(arg); err != nil {
					return err
				}
			}
			return forward.Serve(cmd.Context(), rules, log.New(cmd.OutOrStdout(), "", log.LstdFlags))
		},
	}
}
