// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Annotations of an image in the index of an archive.
const (
	refName       = "org.opencontainers.image.ref.name"
	containerName = "io.containerd.image.name"
)

// ownRepository is where the images of our own programs are named.
const ownRepository = "flotilla.local/"

// Programs are our own programs that become images.
func Programs() []string {
	return []string{"flotilla-hub", "flotilla-spoke", "flotilla-nodeagent", "kubectl-fleet"}
}

// FromProgram makes the image REPOSITORY:tag of one static program, REPOSITORY being the base name of its path. It runs
// as user 65532 with the program as entry point.
func FromProgram(path, tag string) (Image, error) {
	base := filepath.Base(path)
	content, err := os.ReadFile(path)
	if err != nil {
		return Image{}, err
	}
	root, err := layer(
		folder("etc", 0o755), folder("tmp", 0o1777),
		text("etc/passwd", "root:x:0:0:root:/:/bin/false\nnonroot:x:65532:65532:nonroot:/tmp:/bin/false\n"),
		text("etc/group", "root:x:0:\nnonroot:x:65532:\n"))
	if err != nil {
		return Image{}, err
	}
	own, err := layer(program(base, content))
	if err != nil {
		return Image{}, err
	}
	image, err := assemble(v1.Config{
		Entrypoint: []string{"/" + base}, User: "65532:65532", WorkingDir: "/", Env: []string{"PATH=/"},
		Labels: map[string]string{"org.opencontainers.image.title": base, "org.opencontainers.image.version": tag},
	}, []v1.Layer{root, own})
	if err != nil {
		return Image{}, err
	}
	return named(base, tag, image)
}

// Archive writes the image as a tar of an OCI image layout to path. The same image gives the same bytes.
func Archive(image Image, path string) error {
	dir, err := os.MkdirTemp("", "flotilla-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	annotations := map[string]string{refName: image.Tag, containerName: ownRepository + image.Name()}
	if err := index.AppendImage(image.Image, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pack(out, dir), out.Close())
}

// pack writes the files of dir to a tar, in order.
func pack(out io.Writer, dir string) error {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(files)
	w := tar.NewWriter(out)
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(text(filepath.ToSlash(name), string(content)).header()); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return w.Close()
}

// ArchiveAll writes an archive PROGRAM.tar into out for each of Programs that is in the folder binaries, and returns
// the images. It is an error when there is none at all.
func ArchiveAll(binaries, out, tag string) ([]Image, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var list []Image
	for _, p := range Programs() {
		image, err := FromProgram(filepath.Join(binaries, p), tag)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = Archive(image, filepath.Join(out, p+".tar"))
		}
		if err != nil {
			return nil, fmt.Errorf("archive %s: %w", p, err)
		}
		list = append(list, image)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has none of %q", binaries, Programs())
	}
	return list, nil
}
