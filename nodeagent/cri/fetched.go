// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	// mostBlobs is how many layers an image may have whose progress is told.
	mostBlobs = 500
	// longestDigest bounds a digest, in bytes; that of a sha512 has 135.
	longestDigest = 150
	// largestBlob bounds the size, in bytes, that a registry can make us believe.
	largestBlob = 1 << 40
	// almost is the highest percentage before a pull has returned: layers are still to be unpacked.
	almost = 99
)

// Fetched is how many of the bytes of images that are being fetched are there. The zero value says that it is not
// known.
type Fetched struct{ Done, Total int64 }

// Percent is between 0 and 99, and known is false when there is nothing to tell.
func (f Fetched) Percent() (percent int32, known bool) {
	if f.Total <= 0 {
		return 0, false
	}
	return int32(min(almost, max(0, 100*float64(f.Done)/float64(f.Total)))), true
}

// blob is a part of an image: its configuration or a layer.
type blob struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// manifest is an image for one platform.
type manifest struct {
	digest string
	blobs  []blob
}

// add adds up the blobs of those manifests of which a blob is being fetched. Ingests has how many bytes of each are
// there by digest, present the blobs that are there as a whole. What two manifests share counts once.
func add(manifests []manifest, present map[string]bool, ingests map[string]int64) Fetched {
	var out Fetched
	seen := map[string]bool{}
	for _, m := range manifests {
		if !m.touches(ingests) {
			continue
		}
		for _, b := range m.blobs {
			if seen[b.Digest] {
				continue
			}
			seen[b.Digest] = true
			out.Total += b.Size
			if present[b.Digest] {
				out.Done += b.Size
			} else {
				out.Done += min(b.Size, max(0, ingests[b.Digest]))
			}
		}
	}
	return out
}

// touches says whether a blob of the manifest is among the ingests.
func (m manifest) touches(ingests map[string]int64) bool {
	return slices.ContainsFunc(m.blobs, func(b blob) bool { _, yes := ingests[b.Digest]; return yes })
}

// manifestOf reads a manifest of an image.
func manifestOf(digest string, raw []byte) (manifest, error) {
	var read struct {
		Config blob   `json:"config"`
		Layers []blob `json:"layers"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return manifest{}, fmt.Errorf("manifest %s: %w", digest, err)
	}
	if len(read.Layers) > mostBlobs {
		return manifest{}, fmt.Errorf("manifest %s has %d layers", digest, len(read.Layers))
	}
	m := manifest{digest: digest}
	for _, b := range append(read.Layers, read.Config) {
		if len(b.Digest) > longestDigest {
			return manifest{}, fmt.Errorf("manifest %s has a digest of %d bytes", digest, len(b.Digest))
		}
		if b.Digest != "" {
			b.Size = min(largestBlob, max(0, b.Size))
			m.blobs = append(m.blobs, b)
		}
	}
	return m, nil
}

// only returns the manifest with this digest alone when it is among them; a digest may also be that of an index.
func only(digest string, manifests []manifest) []manifest {
	if i := slices.IndexFunc(manifests, func(m manifest) bool { return m.digest == digest }); i >= 0 {
		return manifests[i : i+1]
	}
	return manifests
}

// source takes an image's name apart as containerd does for its labels: the registry without its port, the repository
// with all that Docker leaves out, and the digest or "".
func source(image string) (host, repository, digest string) {
	name, digest, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	first, rest, found := strings.Cut(name, "/")
	switch {
	case !found:
		return "docker.io", "library/" + name, digest
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io", name, digest
	case first == "index.docker.io":
		return "docker.io", rest, digest
	}
	if u, err := url.Parse("dummy://" + first); err == nil {
		first = u.Hostname()
	}
	return first, rest, digest
}
