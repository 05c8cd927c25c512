// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/crds"
)

const (
	syncTimeout    = 10 * time.Second
	installTimeout = 30 * time.Second
)

// observation is a look at a member.
type observation struct {
	// answered says whether /readyz did.
	answered bool
	// facts is nil while they cannot be read.
	facts *facts
}

// facts are what a member says about itself.
type facts struct {
	version string
	nodes   []corev1.Node
	claims  []clusterv1alpha1.ClusterClaim
}

// countFailures gives the number of failed checks in a row, given that before this one.
func (o observation) countFailures(before int) int {
	if o.answered {
		return 0
	}
	return before + 1
}

// member reads the cluster an agent speaks for. Nodes and claims are watched;
// the watches start with the first look that finds the member ready.
type member struct {
	cfg      Config
	caBundle []byte
	changed  func()
	probe    discovery.DiscoveryInterface
	client   client.Client // live
	cache    cache.Cache   // nil until started
}

func newMember(cfg Config, changed func()) (*member, error) {
	m := &member{cfg: cfg, changed: changed}
	full := rest.CopyConfig(cfg.Member)
	if err := rest.LoadTLSFiles(full); err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	m.caBundle = full.CAData
	var err error
	if m.probe, err = discovery.NewDiscoveryClientForConfig(bounded(cfg.Member)); err != nil {
		return nil, err
	}
	m.client, err = client.New(bounded(cfg.Member), client.Options{Scheme: newScheme()})
	return m, err
}

// observe checks the member and reads its facts. An error tells what could not be done; the observation is good all the same.
func (m *member) observe(ctx context.Context) (observation, error) {
	var o observation
	if _, err := m.get(ctx, "/readyz"); err != nil {
		return o, fmt.Errorf("member is not ready: %w", err)
	}
	o.answered = true
	if err := m.start(ctx); err != nil {
		return o, fmt.Errorf("watch member: %w", err)
	}
	found, err := m.read(ctx)
	if err != nil {
		return o, fmt.Errorf("read member: %w", err)
	}
	o.facts = found
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return o, m.keepClaims(ctx, found)
}

// get asks once: a retry would only put the answer off.
func (m *member) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return m.probe.RESTClient().Get().AbsPath(path).MaxRetries(0).DoRaw(ctx)
}

func (m *member) read(ctx context.Context) (*facts, error) {
	raw, err := m.get(ctx, "/version")
	if err != nil {
		return nil, err
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("parse version: %w", err)
	}
	nodes := &corev1.NodeList{}
	claims := &clusterv1alpha1.ClusterClaimList{}
	if err := errors.Join(m.cache.List(ctx, nodes), m.cache.List(ctx, claims)); err != nil {
		return nil, err
	}
	return &facts{version: info.GitVersion, nodes: nodes.Items, claims: claims.Items}, nil
}

// start installs the CRDs and begins to watch, once. The watches end with the context.
func (m *member) start(ctx context.Context) error {
	if m.cache != nil {
		return nil
	}
	installCtx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := crds.Install(installCtx, bounded(m.cfg.Member), m.cfg.CRDs); err != nil {
		return err
	}
	c, err := cache.New(m.cfg.Member, cache.Options{
		Scheme:           newScheme(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: slimNode}},
	})
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(ctx)
	go func() { _ = c.Start(runCtx) }()
	if err := m.watch(ctx, c); err != nil {
		stop()
		return err
	}
	m.cache = c
	context.AfterFunc(ctx, stop)
	return nil
}

func (m *member) watch(ctx context.Context, c cache.Cache) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for _, obj := range []client.Object{&corev1.Node{}, &clusterv1alpha1.ClusterClaim{}} {
		informer, err := c.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
		if _, err := informer.AddEventHandler(m.handler()); err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	return nil
}

func (m *member) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { m.changed() },
		DeleteFunc: func(any) { m.changed() },
		UpdateFunc: func(before, after any) {
			if matters(before, after) {
				m.changed()
			}
		},
	}
}
