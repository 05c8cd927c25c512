// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
)

const (
	// hubQPS and hubBurst bound the requests a second to the hub.
	hubQPS, hubBurst = 50, 100
	// fileInterval is how often the hub's kubeconfig is looked at.
	fileInterval = 5 * time.Second
)

// access is where and as whom to reach the hub.
type access struct {
	config *rest.Config
	// path and digest of the file the config comes from; no path: it never changes.
	path   string
	digest [sha256.Size]byte
}

// hub loads the hub's address and credentials.
func (o Options) hub() (*access, error) {
	if o.HubConfig != nil {
		return &access{config: o.HubConfig}, nil
	}
	if o.HubKubeconfig == "" {
		return nil, errors.New("no kubeconfig of the hub is given")
	}
	data, err := os.ReadFile(o.HubKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the hub's kubeconfig: %w", err)
	}
	config, err := bootstrap.LoadConfig(o.HubKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the hub's kubeconfig: %w", err)
	}
	config.UserAgent = o.UserAgent
	config.QPS, config.Burst = hubQPS, hubBurst
	return &access{config: config, path: o.HubKubeconfig, digest: sha256.Sum256(data)}, nil
}

// watch ends the session when the file's content changes. Certificates and tokens in files of their
// own are read again by the client itself.
func (s *access) watch(ctx context.Context, end context.CancelCauseFunc) {
	if s.path == "" {
		return
	}
	tick := time.NewTicker(fileInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			data, err := os.ReadFile(s.path)
			if err == nil && sha256.Sum256(data) != s.digest {
				end(errChanged)
				return
			}
		}
	}
}

// connect makes a client and a cache of this cluster's namespace on the hub. It sends nothing: which
// kinds the hub has is known beforehand.
func connect(config *rest.Config, namespace string) (cluster.Cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{fleetv1alpha1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return hubKinds(), nil }
		o.Cache = cache.Options{
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		}
		// Reads of this client go to the hub; what is read from the cache is read from GetCache.
		o.Client = client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&fleetv1alpha1.FleetSlice{}, &coordinationv1.Lease{}}}}
	})
}

// hubKinds are the kinds the agent speaks of with the hub.
func hubKinds() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(fleetv1alpha1.SchemeGroupVersion.WithKind("FleetSlice"), meta.RESTScopeNamespace)
	mapper.Add(fleetv1alpha1.SchemeGroupVersion.WithKind("FleetSliceList"), meta.RESTScopeNamespace) // the cache asks by the list's kind
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return mapper
}
