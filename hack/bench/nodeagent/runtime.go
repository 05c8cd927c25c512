// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// images is a container runtime that can do nothing but pull, at once, whatever it is asked for.
type images struct {
	criapi.UnimplementedRuntimeServiceServer
	criapi.UnimplementedImageServiceServer

	mu  sync.Mutex
	has map[string]bool
}

// serveImages serves one at a socket until stop is called.
func serveImages(ctx context.Context, socket string) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	server, runtime := grpc.NewServer(), &images{has: map[string]bool{}}
	criapi.RegisterRuntimeServiceServer(server, runtime)
	criapi.RegisterImageServiceServer(server, runtime)
	go func() { _ = server.Serve(listener) }() // ends with stop
	return server.Stop, nil
}

// Version implements CRI.
func (*images) Version(context.Context, *criapi.VersionRequest) (*criapi.VersionResponse, error) {
	return &criapi.VersionResponse{RuntimeName: "containerd", RuntimeVersion: "bench", RuntimeApiVersion: "v1"}, nil
}

// ListPodSandbox implements CRI.
func (*images) ListPodSandbox(context.Context, *criapi.ListPodSandboxRequest) (*criapi.ListPodSandboxResponse, error) {
	return &criapi.ListPodSandboxResponse{}, nil
}

// PullImage implements CRI.
func (i *images) PullImage(_ context.Context, req *criapi.PullImageRequest) (*criapi.PullImageResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.has[req.GetImage().GetImage()] = true
	return &criapi.PullImageResponse{ImageRef: "sha256:1"}, nil
}

// ImageStatus implements CRI.
func (i *images) ImageStatus(_ context.Context, req *criapi.ImageStatusRequest) (*criapi.ImageStatusResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.has[req.GetImage().GetImage()] {
		return &criapi.ImageStatusResponse{}, nil
	}
	return &criapi.ImageStatusResponse{Image: &criapi.Image{Id: "sha256:1"}}, nil
}
