// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of everything in an image.
var epoch = time.Unix(0, 0).UTC()

// entry is a file, a folder (mode with the directory bit and no content) or a symbolic link in a layer.
type entry struct {
	name, link string
	mode       int64
	dir        bool
	content    []byte
}

func folder(name string, mode int64) entry { return entry{name: name, mode: mode, dir: true} }
func program(name string, content []byte) entry {
	return entry{name: name, mode: 0o755, content: content}
}
func text(name, content string) entry {
	return entry{name: name, mode: 0o644, content: []byte(content)}
}
func symlink(name, target string) entry { return entry{name: name, link: target, mode: 0o777} }

// layer packs the entries in the order given.
func layer(entries ...entry) (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if err := w.WriteHeader(e.header()); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

func (e entry) header() *tar.Header {
	h := &tar.Header{Name: e.name, Mode: e.mode, ModTime: epoch, Format: tar.FormatPAX}
	switch {
	case e.dir:
		h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
	case e.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	default:
		h.Typeflag, h.Size = tar.TypeReg, int64(len(e.content))
	}
	return h
}
