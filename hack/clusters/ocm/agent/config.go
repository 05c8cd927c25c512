// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

// Config is what the agent of one cluster is started with.
type Config struct {
	// Cluster is the name of the ManagedCluster.
	Cluster string
	// Hub may create ManagedClusters and impersonate; Member is an administrator of the member.
	Hub, Member *rest.Config
	// LeaseDuration, in whole seconds of at least 1, is given to a ManagedCluster that has yet to be made.
	LeaseDuration time.Duration
	// CRDs are installed in the member.
	CRDs []*unstructured.Unstructured
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

const (
	longestHeartbeat = 10 * time.Second
	requestTimeout   = 5 * time.Second
	// soon is the wait for acceptance, and the longest wait after a failed pass.
	soon = time.Second
	// settle is how long changes of a member are gathered before they are reported.
	settle = 250 * time.Millisecond
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(clusterv1.Install(scheme))
	utilruntime.Must(clusterv1alpha1.Install(scheme))
	return scheme
}

// bounded gives requests a time limit; it is not for watches.
func bounded(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = requestTimeout
	return cfg
}

// as gives a configuration that acts as the agent of a cluster.
func as(cfg *rest.Config, cluster string) *rest.Config {
	cfg = bounded(cfg)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: identity.User(cluster),
		Groups:   []string{identity.Group(cluster), "system:authenticated"},
	}
	return cfg
}
