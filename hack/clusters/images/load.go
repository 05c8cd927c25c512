// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Load reads the images of an archive that Archive wrote. They stay readable until cleanup is called.
func Load(path string) (list []Image, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "flotilla-image-")
	if err != nil {
		return nil, nil, err
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	if err = unpack(path, dir); err == nil {
		list, err = fromLayout(dir)
	}
	if err != nil {
		cleanup()
		return nil, nil, fmt.Errorf("load %s: %w", path, err)
	}
	return list, cleanup, nil
}

func fromLayout(dir string) ([]Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var list []Image
	for _, d := range manifest.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return nil, err
		}
		full := d.Annotations[containerName]
		base, tag, ok := strings.Cut(full[strings.LastIndexByte(full, '/')+1:], ":")
		if !ok {
			return nil, fmt.Errorf("image %s has no name: annotation %s is %q", d.Digest, containerName, full)
		}
		list = append(list, Image{Repository: base, Tag: tag, Digest: d.Digest, Image: image})
	}
	return list, nil
}

func unpack(path, dir string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := extract(root, h.Name, r); err != nil {
			return err
		}
	}
}

func extract(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
