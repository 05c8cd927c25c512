// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1"
	providerv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
)

// A plugin that hangs costs its own credential and no other.
func TestHungPluginKeepsNoOtherWaiting(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 4)
	provider := func(name, host string) kubeletconfig.CredentialProvider {
		return kubeletconfig.CredentialProvider{Name: name, MatchImages: []string{host}, DefaultCacheDuration: &metav1.Duration{}}
	}
	p := &Plugins{now: time.Now, cache: map[cacheKey]answer{}, providers: []kubeletconfig.CredentialProvider{provider("hung", "a.example.com"), provider("well", "b.example.com")}}
	p.run = func(ctx context.Context, c kubeletconfig.CredentialProvider, _ string) (providerv1.CredentialProviderResponse, error) {
		if c.Name == "hung" {
			entered <- struct{}{}
			select {
			case <-ctx.Done():
			case <-release:
			}
			return providerv1.CredentialProviderResponse{}, context.DeadlineExceeded
		}
		return providerv1.CredentialProviderResponse{}, nil
	}
	go func() { _, _ = p.Credentials(t.Context(), "a.example.com/x") }()
	<-entered
	done := make(chan struct{})
	go func() { defer close(done); _, _ = p.Credentials(t.Context(), "b.example.com/x") }()
	select {
	case <-done:
		close(release)
	case <-time.After(2 * time.Second):
		close(release)
		t.Error("an image of another plugin waits for the plugin that hangs")
	}
}
