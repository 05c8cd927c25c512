// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"context"
	"maps"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Auth is a credential for a registry. Its words never go into logs or errors.
type Auth struct {
	Username, Password string
	// Auth is username:password in base 64, for whom has no more.
	Auth string
	// IdentityToken buys an access token, RegistryToken is one.
	IdentityToken, RegistryToken string
}

// Pull is an image to pull.
type Pull struct {
	// Image is name:tag or name@digest.
	Image string
	// Auth is the credential, nil to pull as nobody.
	Auth *Auth
	// Labels and Annotations are those of the sandbox that the runtime is told to pull for. Some runtimes decide by
	// them from where to pull.
	Labels, Annotations map[string]string
}

// PullImage pulls an image and returns how the runtime calls it. It blocks until the image is there or ctx ends,
// which is the one bound it has.
func (c *Client) PullImage(ctx context.Context, p Pull) (string, error) {
	sandbox := &criapi.PodSandboxConfig{
		Metadata: &criapi.PodSandboxMetadata{},
		Labels:   maps.Clone(p.Labels), Annotations: maps.Clone(p.Annotations),
	}
	r, err := c.images.PullImage(ctx, &criapi.PullImageRequest{
		Image: &criapi.ImageSpec{Image: p.Image}, Auth: authOf(p.Auth), SandboxConfig: sandbox,
	})
	if err != nil {
		return "", wrap("PullImage", err)
	}
	return r.GetImageRef(), nil
}

// ImageID returns the ID of an image that the node has under this name (name:tag or name@digest), and "" when it has
// none. The runtime itself completes short names.
func (c *Client) ImageID(ctx context.Context, image string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.images.ImageStatus(ctx, &criapi.ImageStatusRequest{Image: &criapi.ImageSpec{Image: image}})
	if err != nil {
		return "", wrap("ImageStatus", err)
	}
	return r.GetImage().GetId(), nil
}

func authOf(a *Auth) *criapi.AuthConfig {
	if a == nil {
		return nil
	}
	return &criapi.AuthConfig{
		Username: a.Username, Password: a.Password, Auth: a.Auth,
		IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
	}
}
