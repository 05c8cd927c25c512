// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

const (
	// namespaceKey names the header by which containerd keeps what is Kubernetes' from what is of others.
	namespaceKey, namespace = "containerd-namespace", "k8s.io"
	// Labels by which containerd says where a blob came from, and of what a manifest is made.
	labelSource = "containerd.io/distribution.source."
	labelConfig = "containerd.io/gc.ref.content.config"
	labelLayer  = "containerd.io/gc.ref.content.l."

	// largestManifest is the size, in bytes, up to which manifests are read; registries take no larger ones.
	largestManifest = 4 << 20
	// mostManifests is how many are remembered, and looked at at once.
	mostManifests = 64
	// clockSlack is by how much a file's time may be behind the clock.
	clockSlack = time.Second
)

// store asks containerd's content service, which is on the socket that serves CRI.
type store struct {
	service content.ContentClient

	mu    sync.Mutex
	known map[string]manifest
}

func newStore(conn grpc.ClientConnInterface) *store {
	return &store{service: content.NewContentClient(conn), known: map[string]manifest{}}
}

// Progress returns how much is there of the images of this image's repository that are being fetched, from blobs into
// which something was written after since. CRI does not tell: it is read from the store of containerd, and the error is
// ErrUnsupported for a runtime that has none. It is Fetched's zero value while nothing is being fetched.
func (c *Client) Progress(ctx context.Context, image string, since time.Time) (Fetched, error) {
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, namespaceKey, namespace), callTimeout)
	defer cancel()
	ingests, err := c.store.ingests(ctx, since.Add(-clockSlack))
	if err != nil || len(ingests) == 0 {
		return Fetched{}, err
	}
	host, repository, digest := source(image)
	manifests, err := c.store.manifests(ctx, host, repository, ingests)
	if err != nil {
		return Fetched{}, err
	}
	manifests = only(digest, manifests)
	present, err := c.store.present(ctx, manifests)
	if err != nil {
		return Fetched{}, err
	}
	return add(manifests, present, ingests), nil
}

// ingests returns how many bytes there are of each blob that is being fetched, by digest.
func (s *store) ingests(ctx context.Context, since time.Time) (map[string]int64, error) {
	r, err := s.service.ListStatuses(ctx, &content.ListStatusesRequest{})
	if err != nil {
		return nil, wrap("ListStatuses", err)
	}
	out := map[string]int64{}
	for _, at := range r.GetStatuses() {
		_, digest, found := strings.Cut(at.GetRef(), "-") // layer-sha256:…, config-sha256:…
		if found && strings.Contains(digest, ":") && !at.GetUpdatedAt().AsTime().Before(since) {
			out[digest] = at.GetOffset()
		}
	}
	return out, nil
}

// manifests returns those of a repository of which a blob is being fetched.
func (s *store) manifests(ctx context.Context, host, repository string, ingests map[string]int64) ([]manifest, error) {
	from := labelSource + host
	var out []manifest
	err := s.list(ctx, []string{"labels." + strconv.Quote(from) + ",labels." + strconv.Quote(labelConfig)}, func(info *content.Info) error {
		of := strings.Split(info.GetLabels()[from], ",")
		if !slices.Contains(of, repository) || !mentions(info.GetLabels(), ingests) || len(out) == mostManifests {
			return nil
		}
		m, err := s.manifest(ctx, info)
		if err == nil && m.touches(ingests) {
			out = append(out, m)
		}
		return err
	})
	return out, err
}

// mentions says whether a manifest is made of one of the ingests by its labels, in which layers may have been left out.
func mentions(labels map[string]string, ingests map[string]int64) bool {
	layers := false
	for key, digest := range labels {
		if key != labelConfig && !strings.HasPrefix(key, labelLayer) {
			continue
		}
		layers = layers || key != labelConfig
		if _, yes := ingests[digest]; yes {
			return true
		}
	}
	return !layers
}

// manifest reads a manifest, once. One that cannot be understood has no blobs.
func (s *store) manifest(ctx context.Context, info *content.Info) (manifest, error) {
	digest := info.GetDigest()
	s.mu.Lock()
	m, known := s.known[digest]
	s.mu.Unlock()
	if known {
		return m, nil
	}
	if size := info.GetSize(); size >= 0 && size <= largestManifest {
		raw, err := s.read(ctx, digest, info.GetSize())
		if err != nil {
			return manifest{}, err
		}
		m, _ = manifestOf(digest, raw) // of one that is none nothing is told
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostManifests {
		clear(s.known)
	}
	s.known[digest] = m
	return m, nil
}

// present returns which blobs of the manifests are there as a whole.
func (s *store) present(ctx context.Context, manifests []manifest) (map[string]bool, error) {
	filters := map[string]bool{}
	for _, m := range manifests {
		for _, b := range m.blobs {
			filters["digest=="+strconv.Quote(b.Digest)] = true
		}
	}
	out := map[string]bool{}
	if len(filters) == 0 {
		return out, nil
	}
	err := s.list(ctx, slices.Collect(maps.Keys(filters)), func(info *content.Info) error {
		out[info.GetDigest()] = true
		return nil
	})
	return out, err
}

// list calls each with the blobs that one of the filters fits.
func (s *store) list(ctx context.Context, filters []string, each func(*content.Info) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.service.List(ctx, &content.ListContentRequest{Filters: filters})
	if err != nil {
		return wrap("List", err)
	}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrap("List", err)
		}
		for _, info := range r.GetInfo() {
			if err := each(info); err != nil {
				return err
			}
		}
	}
}

// read returns a blob of this size, which is at most largestManifest.
func (s *store) read(ctx context.Context, digest string, size int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.service.Read(ctx, &content.ReadContentRequest{Digest: digest, Size: size})
	if err != nil {
		return nil, wrap("Read", err)
	}
	out := make([]byte, 0, size)
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, wrap("Read", err)
		}
		if out = append(out, r.GetData()...); len(out) > largestManifest {
			return nil, fmt.Errorf("blob %s is larger than %d bytes", digest, size)
		}
	}
}
