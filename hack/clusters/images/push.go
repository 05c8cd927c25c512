// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push writes the images to the registry at address (host:port, plain HTTP), through transport (nil: the network).
func Push(ctx context.Context, address string, transport http.RoundTripper, list ...Image) error {
	registry, err := name.NewRegistry(address, name.Insecure)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx)}
	if transport != nil {
		options = append(options, remote.WithTransport(transport))
	}
	for _, image := range list {
		if err := remote.Write(registry.Repo(image.Repository).Tag(image.Tag), image.Image, options...); err != nil {
			return fmt.Errorf("push %s: %w", image.Name(), err)
		}
	}
	return nil
}

// Print writes one line an image: its name, digest and size in bytes of all layers as they are pulled.
func Print(out io.Writer, list []Image) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "IMAGE\tDIGEST\tSIZE")
	for _, image := range list {
		manifest, err := image.Image.Manifest()
		if err != nil {
			return err
		}
		var size int64
		for _, l := range manifest.Layers {
			size += l.Size
		}
		fmt.Fprintf(w, "%s\t%s\t%d\n", image.Name(), image.Digest, size)
	}
	return w.Flush()
}
