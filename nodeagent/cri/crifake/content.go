// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crifake

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Content is the store of blobs that containerd serves beside CRI. A Runtime has none until it is given one.
type Content struct {
	content.UnimplementedContentServer

	mu      sync.Mutex
	blobs   map[string]*content.Info
	raw     map[string][]byte
	ingests map[string]*content.Status
	reads   int
}

// NewContent makes an empty store.
func NewContent() *Content {
	return &Content{blobs: map[string]*content.Info{}, raw: map[string][]byte{}, ingests: map[string]*content.Status{}}
}

// Digest is that of the blob with these words.
func Digest(words string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(words))) }

// Add puts a blob into the store, with labels as pairs of key and value, and ends its ingest.
func (c *Content) Add(digest string, size int64, labels ...string) {
	info := &content.Info{Digest: digest, Size: size, Labels: map[string]string{}}
	for i := 0; i+1 < len(labels); i += 2 {
		info.Labels[labels[i]] = labels[i+1]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blobs[digest] = info
	delete(c.ingests, digest)
}

// AddManifest puts the manifest of an image with layers of these sizes into the store, as one that came from the
// repositories (registry, name) and returns its digest. The layers' digests are Digest of their words.
func (c *Content) AddManifest(registry, repositories string, layers map[string]int64) string {
	raw := `{"config":{"digest":"` + Digest("config") + `","size":0},"layers":[`
	labels := []string{"containerd.io/distribution.source." + registry, repositories, "containerd.io/gc.ref.content.config", Digest("config")}
	for words, size := range layers {
		labels = append(labels, fmt.Sprintf("containerd.io/gc.ref.content.l.%d", len(labels)), Digest(words))
		raw += fmt.Sprintf(`{"digest":%q,"size":%d},`, Digest(words), size)
	}
	raw = strings.TrimSuffix(raw, ",") + "]}"
	digest := Digest(raw)
	c.Add(digest, int64(len(raw)), labels...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw[digest] = []byte(raw)
	return digest
}

// Ingest makes a layer be fetched, of which so many bytes are there, the last of them since then.
func (c *Content) Ingest(digest string, offset int64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ingests[digest] = &content.Status{Ref: "layer-" + digest, Offset: offset, UpdatedAt: timestamppb.New(at)}
}

// Reads returns how often blobs were read.
func (c *Content) Reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

// ListStatuses implements the content service.
func (c *Content) ListStatuses(ctx context.Context, _ *content.ListStatusesRequest) (*content.ListStatusesResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &content.ListStatusesResponse{}
	for _, at := range c.ingests {
		out.Statuses = append(out.Statuses, at)
	}
	return out, inNamespace(ctx)
}

// List implements the content service with the filters by a digest and by labels that are there.
func (c *Content) List(req *content.ListContentRequest, stream content.Content_ListServer) error {
	if err := inNamespace(stream.Context()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, info := range c.blobs {
		for _, filter := range req.GetFilters() {
			if fits(filter, info) {
				if err := stream.Send(&content.ListContentResponse{Info: []*content.Info{info}}); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// Read implements the content service for manifests, in two pieces.
func (c *Content) Read(req *content.ReadContentRequest, stream content.Content_ReadServer) error {
	c.mu.Lock()
	raw, there := c.raw[req.GetDigest()]
	c.reads++
	c.mu.Unlock()
	if !there {
		return status.Error(codes.NotFound, "content not found")
	}
	for _, piece := range [][]byte{raw[:len(raw)/2], raw[len(raw)/2:]} {
		if err := stream.Send(&content.ReadContentResponse{Data: piece}); err != nil {
			return err
		}
	}
	return inNamespace(stream.Context())
}

func fits(filter string, info *content.Info) bool {
	if digest, found := strings.CutPrefix(filter, "digest=="); found {
		return strings.Trim(digest, `"`) == info.GetDigest()
	}
	for part := range strings.SplitSeq(filter, ",") {
		key := strings.Trim(strings.TrimPrefix(part, "labels."), `"`)
		if _, there := info.GetLabels()[key]; !there {
			return false
		}
	}
	return true
}

func inNamespace(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if got := md.Get("containerd-namespace"); len(got) != 1 || got[0] != "k8s.io" {
		return status.Errorf(codes.FailedPrecondition, "namespace is required, got %q", got)
	}
	return nil
}
