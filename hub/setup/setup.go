// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// Add puts the whole hub into a manager.
func Add(mgr manager.Manager, hooks *webhookserver.Options, opts *Options) error {
	if err := errors.Join(
		AddControllers(mgr, opts),
		AddWebhooks(mgr, hooks),
	); err != nil {
		return fmt.Errorf("setting up the hub: %w", err)
	}
	return registerMetrics()
}

// AddControllers adds the controllers alone.
func AddControllers(mgr manager.Manager, opts *Options) error {
	dividers, err := newDividers(mgr)
	if err != nil {
		return err
	}
	// The manager's client waits for its cache to show what it wrote, and may not watch ConfigMaps.
	writer, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	names, err := cache.New(mgr.GetConfig(), cache.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: namesOnly})
	if err != nil {
		return err
	}
	if err := mgr.Add(names); err != nil {
		return err
	}
	now := clock.RealClock{}
	placements := &fleetplacement.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Names: names, Slices: slice.New(mgr.GetClient()),
		Dividers: dividers, Spread: spreadOver,
		Kinds: toldKinds(), Renderer: render.New(),
		Epoch:  &fleetplacement.Epoch{Reader: mgr.GetAPIReader(), Writer: writer, Namespace: opts.Namespace, Clock: now},
		Events: events.New(mgr.GetEventRecorder("flotilla-hub")), Clock: now,
		StaleAfter: opts.StaleAfter, DropGrace: opts.DropGrace, Concurrency: opts.Workers,
	}
	return placements.SetupWithManager(mgr)
}

// registerMetrics registers every package's metrics. Twice is once: tests have several managers.
func registerMetrics() error {
	var errs []error
	for _, c := range append(slice.Collectors(), fleetplacement.Collectors()...) {
		var already prometheus.AlreadyRegisteredError
		if err := crmetrics.Registry.Register(c); err != nil && !errors.As(err, &already) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
