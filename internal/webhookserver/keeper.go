// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-sh/flotilla/internal/features"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

const (
	keyAuthorityCert = "ca.crt"
	keyAuthorityKey  = "ca.key"
	// recheck bounds how late a certificate is renewed.
	recheck = time.Hour
)

// keeper makes certificates and tells the API server of them. It runs on every replica.
type keeper struct {
	*Options
	client client.Client
	clock  clock.Clock
	// leads is set in the one replica that takes out what is gated off, and puts it back: while gates change,
	// replicas with the old and the new ones run side by side, and would undo each other's work.
	leads atomic.Bool
}

// AddKeeper adds the keeper to the manager.
func (o *Options) AddKeeper(mgr manager.Manager) error {
	o.external = features.Enabled(features.EnableExternalCerts)
	k := &keeper{Options: o, client: mgr.GetClient(), clock: clock.RealClock{}}
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "webhooks"}}}
	})
	b := builder.ControllerManagedBy(mgr).Named("webhook-keeper").
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false), MaxConcurrentReconciles: 1}).
		Watches(&corev1.Secret{}, one)
	for _, gvk := range append(slices.Clone(configurationGVKs), crdGVK) {
		b = b.Watches(newConfig(gvk), one)
	}
	return errors.Join(mgr.Add(beginner{k}), mgr.Add(leader{beginner{k}}), b.Complete(k))
}

// beginner makes the keeper's first pass, on every replica, even when there is nothing yet whose
// event would cause one.
type beginner struct{ *keeper }

// NeedLeaderElection is false: every replica serves.
func (beginner) NeedLeaderElection() bool { return false }

// Start tries until a pass succeeds.
func (k beginner) Start(ctx context.Context) error {
	wait := 100 * time.Millisecond
	for {
		_, err := k.Reconcile(ctx, reconcile.Request{})
		if err == nil || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.clock.After(wait):
			wait = min(2*wait, 10*time.Second)
		}
	}
}

// leader makes a pass when this replica becomes the one that acts.
type leader struct{ beginner }

// NeedLeaderElection is true: there is one.
func (leader) NeedLeaderElection() bool { return true }

// Start tries until a pass succeeds.
func (l leader) Start(ctx context.Context) error {
	l.leads.Store(true)
	return l.beginner.Start(ctx)
}

// Reconcile makes one pass: certificates, then trust.
func (k *keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	if k.external {
		return reconcile.Result{RequeueAfter: recheck}, k.lookExternal(ctx)
	}
	var b bundle
	return steps.Run(ctx,
		steps.Step{Name: "certificates", Do: func(ctx context.Context) (steps.Outcome, error) {
			var err error
			b, err = k.certificates(ctx)
			return steps.Outcome{RequeueAfter: recheck, Stop: err != nil}, err
		}},
		steps.Step{Name: "webhook configurations", Do: func(ctx context.Context) (steps.Outcome, error) {
			return steps.Outcome{}, k.injectWebhooks(ctx, b.authorityCert)
		}},
		steps.Step{Name: "conversion", Do: func(ctx context.Context) (steps.Outcome, error) {
			return steps.Outcome{}, k.injectConversion(ctx, b.authorityCert)
		}},
	)
}

func (k *keeper) injectWebhooks(ctx context.Context, authority []byte) error {
	configurations, err := k.configurations(ctx)
	if err != nil {
		return err
	}
	for _, cfg := range configurations {
		patch, err := k.webhookPatch(cfg, authority, k.leads.Load())
		if err == nil && patch == nil { // else the change wakes us
			patch, err = k.releasePatch(cfg)
		}
		if err != nil {
			return err
		}
		if err := k.send(ctx, cfg, patch); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) injectConversion(ctx context.Context, authority []byte) error {
	definitions, err := k.definitions(ctx)
	if err != nil {
		return err
	}
	for _, crd := range definitions {
		patch, err := k.conversionPatch(crd, authority)
		if err != nil {
			return err
		}
		if err := k.send(ctx, crd, patch); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) send(ctx context.Context, obj *unstructured.Unstructured, patch client.Patch) error {
	if patch == nil {
		return nil
	}
	return k.client.Patch(ctx, obj.DeepCopy(), patch, client.FieldOwner(k.owner()))
}
