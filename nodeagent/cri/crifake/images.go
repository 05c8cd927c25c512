// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package crifake

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Pull is a pull that somebody asked for.
type Pull struct {
	Image              string
	Username, Password string
	Annotations        map[string]string
}

// Images is the image service. Whatever is asked for can be pulled unless Fail or Hold says otherwise.
type Images struct {
	criapi.UnimplementedImageServiceServer

	mu    sync.Mutex
	has   map[string]bool
	fails map[string]string
	keys  map[string]string
	held  map[string]chan struct{}
	pulls []Pull
	busy  int
	most  int
}

func newImages() *Images {
	return &Images{has: map[string]bool{}, fails: map[string]string{}, keys: map[string]string{}, held: map[string]chan struct{}{}}
}

// Add makes the node have an image.
func (i *Images) Add(image string) { i.lock(func() { i.has[image] = true }) }

// Has tells whether the node has an image.
func (i *Images) Has(image string) (yes bool) { i.lock(func() { yes = i.has[image] }); return yes }

// Fail makes pulls of an image end with these words, until words is "".
func (i *Images) Fail(image, words string) { i.lock(func() { i.fails[image] = words }) }

// Lock makes pulls of an image need this password.
func (i *Images) Lock(image, password string) { i.lock(func() { i.keys[image] = password }) }

// Hold makes pulls of an image take until what it returns is called.
func (i *Images) Hold(image string) (release func()) {
	held := make(chan struct{})
	i.lock(func() { i.held[image] = held })
	return sync.OnceFunc(func() {
		i.lock(func() { delete(i.held, image) })
		close(held)
	})
}

// Pulls returns the pulls so far.
func (i *Images) Pulls() (out []Pull) {
	i.lock(func() { out = slices.Clone(i.pulls) })
	return out
}

// Most returns how many pulls there were at once, at most.
func (i *Images) Most() (most int) { i.lock(func() { most = i.most }); return most }

func (i *Images) lock(do func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	do()
}

// PullImage implements CRI.
func (i *Images) PullImage(ctx context.Context, req *criapi.PullImageRequest) (*criapi.PullImageResponse, error) {
	image := req.GetImage().GetImage()
	var held chan struct{}
	i.lock(func() {
		i.pulls = append(i.pulls, Pull{
			Image: image, Username: req.GetAuth().GetUsername(), Password: req.GetAuth().GetPassword(),
			Annotations: req.GetSandboxConfig().GetAnnotations(),
		})
		i.busy++
		i.most = max(i.most, i.busy)
		held = i.held[image]
	})
	defer i.lock(func() { i.busy-- })
	if held != nil {
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-held:
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if words := i.fails[image]; words != "" {
		return nil, status.Error(codes.NotFound, words)
	}
	if key := i.keys[image]; key != "" && key != req.GetAuth().GetPassword() {
		return nil, status.Errorf(codes.Unknown, "failed to pull image %q: 401 Unauthorized", image)
	}
	i.has[image] = true
	return &criapi.PullImageResponse{ImageRef: idOf(image)}, nil
}

// ImageStatus implements CRI.
func (i *Images) ImageStatus(_ context.Context, req *criapi.ImageStatusRequest) (*criapi.ImageStatusResponse, error) {
	image := req.GetImage().GetImage()
	if !i.Has(image) {
		return &criapi.ImageStatusResponse{}, nil
	}
	return &criapi.ImageStatusResponse{Image: &criapi.Image{Id: idOf(image)}}, nil
}

func idOf(image string) string { return "sha256:id-of-" + image }
