// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/featuregate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/nodeagent/containermeta"
	"github.com/flotilla-sh/flotilla/nodeagent/credentials"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/images"
	"github.com/flotilla-sh/flotilla/nodeagent/probes"
	"github.com/flotilla-sh/flotilla/nodeagent/restart"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

// agent is what the duties are made from.
type agent struct {
	mgr     ctrl.Manager
	runtime *cri.Connector
	events  events.Publisher
	options *Options
	start   time.Time
}

// duty is one thing the agent does.
type duty struct {
	name string
	// gate must be on for the duty to be added; "" for always.
	gate featuregate.Feature
	add  func(context.Context, agent) error
}

// duties is the table of all of them.
var duties = []duty{
	{name: "runtime-notices", add: addRuntimeNotices},
	{name: "runtime-condition", add: addRuntimeCondition},
	{name: "containermeta", gate: features.DaemonWatchingPod, add: addContainerMeta},
	{name: "restart", gate: features.KruiseDaemon, add: addRestart},
	{name: "images", gate: features.KruiseDaemon, add: addImages},
	{name: "probes", gate: features.PodProbeMarkerGate, add: addProbes},
}

func addRuntimeNotices(_ context.Context, a agent) error {
	return a.mgr.Add(&runtimeNotices{
		statuses: a.runtime.Subscribe(),
		events:   a.events,
		node:     a.options.NodeName,
		after:    noticeAfter,
	})
}

// addRuntimeCondition does nothing for an agent that runs in no pod.
func addRuntimeCondition(_ context.Context, a agent) error {
	if a.options.PodName == "" {
		a.mgr.GetLogger().Info("There is no condition about the runtime: neither --pod-name nor POD_NAME is set")
		return nil
	}
	return a.mgr.Add(&runtimeCondition{
		statuses: a.runtime.Subscribe(),
		writer:   a.mgr.GetClient().Status(),
		reader:   a.mgr.GetAPIReader(),
		pod:      client.ObjectKey{Namespace: a.options.Namespace, Name: a.options.PodName},
		now:      time.Now,
	})
}

func addContainerMeta(ctx context.Context, a agent) error {
	// Made now rather than at its first use, so that a read that comes early waits for it.
	if _, err := a.mgr.GetCache().GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
		return err
	}
	env := features.Enabled(features.InPlaceUpdateEnvFromMetadata)
	if err := (&containermeta.Reconciler{
		Client:  a.mgr.GetClient(),
		Runtime: a.runtime,
		Events:  a.events,
		Rules:   containermeta.Rules{Start: a.start, Env: env},
		Now:     time.Now,
		Workers: a.options.ContainerMetaWorkers,
	}).SetupWithManager(a.mgr); err != nil || !env {
		return err
	}
	return (&containermeta.Restarter{
		Client: a.mgr.GetClient(), Live: a.mgr.GetAPIReader(), Runtime: a.runtime,
		Stopper: &stop.Stopper{Events: a.events, Now: time.Now}, Now: time.Now,
	}).SetupWithManager(ctx, a.mgr)
}

// addImages pulls what this node's NodeImage asks for. The plugins are read before anything is pulled.
func addImages(ctx context.Context, a agent) error {
	plugins, err := credentials.LoadPlugins(a.options.PluginConfigFile, a.options.PluginBinDir, time.Now)
	if err != nil {
		return err
	}
	return (&images.Reconciler{
		Client: a.mgr.GetClient(),
		Puller: &images.Puller{
			Node:    a.options.NodeName,
			Runtime: images.Over(a.runtime),
			Credentials: &images.Keyring{
				Reader: a.mgr.GetAPIReader(), Namespace: a.options.SecretNamespace, Plugins: plugins, Now: time.Now,
			},
			Events:  a.events,
			Now:     time.Now,
			Workers: a.options.PullWorkers,
		},
	}).SetupWithManager(ctx, a.mgr)
}

// addProbes watches the pods of the node as well, whatever gate DaemonWatchingPod says: no probe is run for a pod that
// is known from a NodePodProbe alone.
func addProbes(ctx context.Context, a agent) error {
	return (&probes.Reconciler{
		Client:  a.mgr.GetClient(),
		Runtime: a.runtime,
		Events:  a.events,
		Node:    a.options.NodeName,
		Now:     time.Now,
		Limit:   a.options.ProbesAtOnce,
	}).SetupWithManager(ctx, a.mgr)
}

// addRestart carries out ContainerRecreateRequests. It watches the pods of the node as well, since a request is carried
// out for no pod that is known from the request alone.
func addRestart(ctx context.Context, a agent) error {
	return (&restart.Reconciler{
		Client: a.mgr.GetClient(), Live: a.mgr.GetAPIReader(), Runtime: restart.Over(a.runtime), Node: a.options.NodeName,
		Stopper: &stop.Stopper{Events: a.events, Now: time.Now}, Now: time.Now,
	}).SetupWithManager(ctx, a.mgr)
}
