// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/crds"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/placement"
	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/registration"
)

const (
	startRetry = time.Second
	// forever is the time informers get to fill: the hub may be away for long.
	forever = 365 * 24 * time.Hour
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.Install, clusterv1beta1.Install, clusterv1beta2.Install,
		workv1.Install, addonv1beta1.Install,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// runHub prepares the hub, as often as it takes, and runs its controllers.
func runHub(ctx context.Context, cfg *rest.Config, apiDir string) error {
	definitions, err := crds.Hub(apiDir)
	if err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, startRetry, true, func(ctx context.Context) (bool, error) {
		err := prepareHub(ctx, cfg, func() error { return crds.Install(ctx, cfg, definitions) })
		if err != nil {
			log.Log.Info("The hub cannot be prepared yet, will try again", "reason", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return nil // the context has ended
	}
	mgr, err := newManager(cfg)
	if err != nil {
		return fmt.Errorf("hub manager: %w", err)
	}
	if err := addControllers(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func prepareHub(ctx context.Context, cfg *rest.Config, install func() error) error {
	if err := install(); err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{Scheme: newScheme()})
	if err != nil {
		return err
	}
	return registration.EnsureSets(ctx, c)
}

func newManager(cfg *rest.Config) (manager.Manager, error) {
	return manager.New(cfg, manager.Options{
		Scheme:                 newScheme(),
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache:                  cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client: client.Options{Cache: &client.CacheOptions{
			// Few reads of few objects: not worth a watch each.
			DisableFor: []client.Object{
				&corev1.Namespace{}, &coordinationv1.Lease{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
				&rbacv1.RoleBinding{}, &workv1.ManifestWork{}, &addonv1beta1.ManagedClusterAddOn{},
			},
			EnableReadYourWritesConsistency: ptr.To(true),
		}},
		// Several stand-ins may run in one test process.
		Controller: config.Controller{SkipNameValidation: ptr.To(true), CacheSyncTimeout: forever},
	})
}

// addControllers is the list of all that runs on the hub; the add-on flow will join it.
func addControllers(mgr manager.Manager) error {
	c, now := mgr.GetClient(), clock.RealClock{}
	for _, controller := range []interface{ Setup(manager.Manager) error }{
		&registration.AcceptReconciler{Client: c, Clock: now},
		&registration.HealthReconciler{Client: c, Live: mgr.GetAPIReader(), Clock: now},
		&registration.SetReconciler{Client: c, Clock: now},
		&registration.BindingReconciler{Client: c, Clock: now},
		&placement.Reconciler{Client: c, Clock: now},
	} {
		if err := controller.Setup(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", controller, err)
		}
	}
	return nil
}
