// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/nodeagent/containermeta"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/footprint"
	"github.com/flotilla-sh/flotilla/nodeagent/images"
	"github.com/flotilla-sh/flotilla/nodeagent/probes"
	"github.com/flotilla-sh/flotilla/nodeagent/restart"
)

// Run serves the node until ctx ends. The error says which part could not be set up or failed; a missing
// container runtime is none.
func Run(ctx context.Context, o *Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := registerMetrics(); err != nil {
		return err
	}
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	connector := cri.NewConnector(cri.Finder{
		Explicit:       o.SocketFile,
		Dirs:           o.runDirs(),
		KubeletRuntime: kubeletRuntime(mgr.GetAPIReader(), o.NodeName),
	}, mgr.GetLogger().WithName("cri"))
	if err := errors.Join(mgr.Add(connector), addHealth(mgr, connector)); err != nil {
		return err
	}
	if err := addDuties(ctx, agent{
		mgr: mgr, runtime: connector, events: events.New(mgr.GetEventRecorder(o.Component)), options: o, start: time.Now(),
	}); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return dropStart(ctx, mgr) })); err != nil {
		return err
	}
	mgr.GetLogger().Info("Starting", "node", o.NodeName)
	return mgr.Start(ctx)
}

// dropStart gives back what only the start needed, when that is over.
func dropStart(ctx context.Context, mgr ctrl.Manager) error {
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil // at its end
	}
	if err := footprint.DropProgram(); err != nil {
		mgr.GetLogger().Info("The pages of the program stay in memory", "reason", err.Error())
	}
	return nil
}

func newManager(o *Options) (ctrl.Manager, error) {
	cfg, err := o.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return o.Manager(cfg, scheme, nil, cachedObjects(o.NodeName))
}

func addDuties(ctx context.Context, a agent) error {
	for _, d := range duties {
		if d.gate != "" && !features.Enabled(d.gate) {
			a.mgr.GetLogger().Info("Duty is off", "duty", d.name, "gate", d.gate)
			continue
		}
		if err := d.add(ctx, a); err != nil {
			return fmt.Errorf("set up %s: %w", d.name, err)
		}
	}
	return nil
}

// addHealth serves health on the address of the metrics, and on one of its own when that is asked for.
func addHealth(mgr ctrl.Manager, connector *cri.Connector) error {
	ready := readiness{"pods": podsKnown(mgr), "runtime": runtimeUp(connector)}
	errs := []error{
		mgr.AddMetricsServerExtraHandler("/healthz", http.StripPrefix("/healthz", &healthz.Handler{})),
		mgr.AddMetricsServerExtraHandler("/readyz", ready),
	}
	for name, check := range ready {
		errs = append(errs, mgr.AddReadyzCheck(name, check))
	}
	return errors.Join(errs...)
}

func registerMetrics() error {
	var errs []error
	all := [][]prometheus.Collector{
		cri.Collectors(), containermeta.Collectors(), images.Collectors(), probes.Collectors(), restart.Collectors(),
	}
	for _, collectors := range all {
		for _, c := range collectors {
			errs = append(errs, metrics.Registry.Register(c))
		}
	}
	return errors.Join(errs...)
}
