// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	kubeletconfig "k8s.io/kubelet/config/v1"
	providerv1 "k8s.io/kubelet/pkg/apis/credentialprovider/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// pluginTimeout bounds one run of a plugin, as the kubelet's does.
const pluginTimeout = time.Minute

// Plugins are the credential providers of a node.
type Plugins struct {
	providers []kubeletconfig.CredentialProvider
	run       func(ctx context.Context, p kubeletconfig.CredentialProvider, image string) (providerv1.CredentialProviderResponse, error)
	now       func() time.Time

	mu    sync.Mutex
	cache map[cacheKey]answer
	// turns has a channel for each provider, with a token in it while it is asked.
	turns map[string]chan struct{}
}

type cacheKey struct{ provider, key string }

type answer struct {
	entries []Entry
	until   time.Time
}

// LoadPlugins reads a kubelet's CredentialProviderConfig; a file that is not there means that there are no plugins.
// binDir holds the programs. The error says what in the file is wrong.
func LoadPlugins(file, binDir string, now func() time.Time) (*Plugins, error) {
	p := &Plugins{run: runner(binDir), now: now, cache: map[cacheKey]answer{}}
	if file == "" {
		return p, nil
	}
	raw, err := os.ReadFile(filepath.Clean(file))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("credential providers: %w", err)
	}
	var config kubeletconfig.CredentialProviderConfig
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("credential providers: %s: %w", file, err)
	}
	if config.Kind != "CredentialProviderConfig" || !strings.HasPrefix(config.APIVersion, "kubelet.config.k8s.io/") {
		return nil, fmt.Errorf("credential providers: %s holds a %s %s, not a kubelet's CredentialProviderConfig", file, config.APIVersion, config.Kind)
	}
	var errs []error
	for i := range config.Providers {
		errs = append(errs, check(&config.Providers[i]))
	}
	p.providers = config.Providers
	return p, errors.Join(errs...)
}

func check(p *kubeletconfig.CredentialProvider) error {
	switch {
	case p.Name == "" || p.Name != filepath.Base(p.Name):
		return fmt.Errorf("credential providers: name %q must be that of a program", p.Name)
	case len(p.MatchImages) == 0:
		return fmt.Errorf("credential provider %s: matchImages says for which images", p.Name)
	case p.DefaultCacheDuration == nil || p.DefaultCacheDuration.Duration < 0:
		return fmt.Errorf("credential provider %s: defaultCacheDuration must be 0 or more", p.Name)
	case !slices.Contains(apiVersions, p.APIVersion):
		return fmt.Errorf("credential provider %s: apiVersion must be one of %s", p.Name, strings.Join(apiVersions, ", "))
	}
	return nil
}

// Credentials asks the plugins that are for a repository. Of a plugin that fails there is an error and no credential;
// the others' are returned all the same. Plugins that work only for a pod's own service account are left out.
func (p *Plugins) Credentials(ctx context.Context, repository string) ([]Entry, error) {
	if p == nil {
		return nil, nil
	}
	host, rest := split(repository)
	image := host + "/" + rest
	var out []Entry
	var errs []error
	for _, provider := range p.providers {
		fits := slices.ContainsFunc(provider.MatchImages, func(pattern string) bool { return matches(pattern, host, rest) })
		if !fits || provider.TokenAttributes != nil {
			continue
		}
		entries, err := p.ask(ctx, provider, image)
		out = append(out, entries...)
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// ask takes the answer of a plugin from the cache or runs it. Images that want the same wait for one run, and for no run
// of another plugin.
func (p *Plugins) ask(ctx context.Context, provider kubeletconfig.CredentialProvider, image string) ([]Entry, error) {
	turn := p.turn(provider.Name)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("credential provider %s: %w", provider.Name, ctx.Err())
	}
	if entries, ok := p.cached(provider.Name, image); ok {
		return entries, nil
	}
	ctx, cancel := context.WithTimeout(ctx, pluginTimeout)
	defer cancel()
	response, err := p.run(ctx, provider, image)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, pattern := range slices.Sorted(maps.Keys(response.Auth)) {
		auth := response.Auth[pattern]
		entries = append(entries, Entry{Pattern: pattern, Auth: cri.Auth{Username: auth.Username, Password: auth.Password}})
	}
	keep := provider.DefaultCacheDuration.Duration
	if response.CacheDuration != nil {
		keep = response.CacheDuration.Duration
	}
	if key, ok := keyOf(response.CacheKeyType, image); ok && keep > 0 {
		p.keep(cacheKey{provider.Name, key}, entries, keep)
	}
	return entries, nil
}

func (p *Plugins) turn(provider string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turns == nil {
		p.turns = map[string]chan struct{}{}
	}
	if p.turns[provider] == nil {
		p.turns[provider] = make(chan struct{}, 1)
	}
	return p.turns[provider]
}

func (p *Plugins) cached(provider, image string) ([]Entry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	maps.DeleteFunc(p.cache, func(_ cacheKey, a answer) bool { return !now.Before(a.until) })
	for _, key := range keys(image) {
		if a, ok := p.cache[cacheKey{provider, key}]; ok {
			return a.entries, true
		}
	}
	return nil, false
}

func (p *Plugins) keep(k cacheKey, entries []Entry, how time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cache[k] = answer{entries, p.now().Add(how)}
}

// keys are under what an answer for an image may be kept: for itself, its registry, or for all.
func keys(image string) []string {
	host, _, _ := strings.Cut(image, "/")
	return []string{image, host, ""}
}

func keyOf(kind providerv1.PluginCacheKeyType, image string) (string, bool) {
	all := keys(image)
	switch kind {
	case providerv1.ImagePluginCacheKeyType:
		return all[0], true
	case providerv1.RegistryPluginCacheKeyType:
		return all[1], true
	case providerv1.GlobalPluginCacheKeyType:
		return all[2], true
	default:
		return "", false
	}
}
