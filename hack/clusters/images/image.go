// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is a finished image with its name.
type Image struct {
	// Repository and Tag name the image: Repository:Tag.
	Repository, Tag string
	// Digest of the image's manifest.
	Digest v1.Hash
	// Image itself.
	Image v1.Image
}

// Name is REPOSITORY:TAG.
func (i Image) Name() string { return i.Repository + ":" + i.Tag }

// Samples makes the sample images from the programs which BuildSamples left in dir, in the order of the catalog.
func Samples(dir string) ([]Image, error) {
	tools, err := os.ReadFile(filepath.Join(dir, Sleeper))
	if err != nil {
		return nil, err
	}
	base, err := baseLayer(tools)
	if err != nil {
		return nil, err
	}
	layers := map[string]v1.Layer{}
	var list []Image
	for _, s := range catalog() {
		if layers[s.program] == nil {
			if layers[s.program], err = programLayer(dir, s.program); err != nil {
				return nil, err
			}
		}
		image, err := s.image(base, layers[s.program])
		if err != nil {
			return nil, fmt.Errorf("image %s:%s: %w", s.repository, s.tag, err)
		}
		list = append(list, image)
	}
	return list, nil
}

// image puts a sample together. The sandbox image is its program alone.
func (s sample) image(base, program v1.Layer) (Image, error) {
	layers := []v1.Layer{program}
	if s.program != Pause {
		version, err := layer(text("version", s.version+"\n"))
		if err != nil {
			return Image{}, err
		}
		layers = []v1.Layer{base, program, version}
	}
	config := v1.Config{
		Entrypoint: []string{"/" + s.program},
		Env:        append([]string{"PATH=/bin:/"}, s.env...),
		WorkingDir: "/",
		Labels:     map[string]string{"org.opencontainers.image.title": s.program, "org.opencontainers.image.version": s.version},
	}
	image, err := assemble(config, layers)
	if err != nil {
		return Image{}, err
	}
	return named(s.repository, s.tag, image)
}

func named(repository, tag string, image v1.Image) (Image, error) {
	digest, err := image.Digest()
	return Image{Repository: repository, Tag: tag, Digest: digest, Image: image}, err
}

func assemble(config v1.Config, layers []v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	adds := make([]mutate.Addendum, len(layers))
	for i, l := range layers {
		adds[i] = mutate.Addendum{Layer: l, History: v1.History{Created: v1.Time{Time: epoch}}}
	}
	image, err := mutate.Append(image, adds...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", runtime.GOARCH, v1.Time{Time: epoch}, config
	return mutate.ConfigFile(image, file)
}

// baseLayer has what programs expect of a root file system, and the small tools.
func baseLayer(tools []byte) (v1.Layer, error) {
	entries := []entry{
		folder("bin", 0o755), folder("etc", 0o755), folder("tmp", 0o1777),
		text("etc/passwd", "root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
		text("etc/group", "root:x:0:\nnobody:x:65534:\n"),
		program("bin/tools", tools),
	}
	for _, name := range []string{"cat", "dial", "echo", "env", "false", "rm", "sleep", "touch", "true"} {
		entries = append(entries, symlink("bin/"+name, "tools"))
	}
	return layer(entries...)
}

func programLayer(dir, name string) (v1.Layer, error) {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	return layer(program(name, content))
}
