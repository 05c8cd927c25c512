// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flotilla-sh/flotilla/hack/clusters/images"
	"github.com/flotilla-sh/flotilla/hack/clusters/lifecycle"
	"github.com/flotilla-sh/flotilla/hack/clusters/registry"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// imagesRequest is what `images` is asked to do; nothing of it means: list the samples.
type imagesRequest struct {
	name, archive, binaries, tag string
	load                         []string
}

func imagesCommand() *cobra.Command {
	var req imagesRequest
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the sample images with their digests, or make and load images of our own programs",
		Long: "Without flags: build the sample images and list them with their digests.\n" +
			"With --archive: write an OCI archive PROGRAM.tar for each of our programs found in --binaries.\n" +
			"With --load: push such archives to the registry of the set --name, where real nodes pull them from.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := lifecycle.Root()
			if err != nil {
				return err
			}
			return req.run(cmd.Context(), root, cmd.OutOrStdout())
		},
	}
	nameFlag(cmd, &req.name)
	f := cmd.Flags()
	f.StringVar(&req.archive, "archive", "", "folder to write OCI archives of our own programs to")
	f.StringVar(&req.binaries, "binaries", "bin", "folder with "+strings.Join(images.Programs(), ", ")+", for --archive")
	f.StringVar(&req.tag, "tag", "dev", "tag of the images, for --archive")
	f.StringSliceVar(&req.load, "load", nil, "archives to push to the set's registry")
	return cmd
}

func (r imagesRequest) run(ctx context.Context, root string, out io.Writer) error {
	switch {
	case r.archive != "" && len(r.load) > 0:
		return errors.New("--archive and --load do not go together")
	case r.archive != "":
		list, err := images.ArchiveAll(r.binaries, r.archive, r.tag)
		if err != nil {
			return err
		}
		return images.Print(out, list)
	case len(r.load) > 0:
		return load(ctx, root, r, out)
	default:
		return listSamples(ctx, root, out)
	}
}

func listSamples(ctx context.Context, root string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "flotilla-samples-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := images.BuildSamples(ctx, root, dir); err != nil {
		return err
	}
	list, err := images.Samples(dir)
	if err != nil {
		return err
	}
	return images.Print(out, list)
}

func load(ctx context.Context, root string, r imagesRequest, out io.Writer) error {
	c, err := state.Load(root, r.name)
	if err != nil {
		return err
	}
	address, err := registry.Address(c)
	if err != nil {
		return err
	}
	for _, path := range r.load {
		list, cleanup, err := images.Load(path)
		if err != nil {
			return err
		}
		err = images.Push(ctx, address, nil, list...)
		if err == nil {
			err = images.Print(out, list)
		}
		cleanup()
		if err != nil {
			return fmt.Errorf("load %s: %w", path, err)
		}
	}
	return nil
}

// registryCommand is what the process `registry` of a set runs.
func registryCommand() *cobra.Command {
	var listen, samples string
	cmd := &cobra.Command{
		Use:    "registry",
		Short:  "Serve the sample images (run by up)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := images.Samples(samples)
			if err != nil {
				return err
			}
			return registry.Serve(cmd.Context(), listen, list, log.New(cmd.OutOrStdout(), "", log.LstdFlags))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on")
	cmd.Flags().StringVar(&samples, "samples", "", "folder with the built sample programs")
	return cmd
}
