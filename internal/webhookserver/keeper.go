// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
}

// AddKeeper adds the keeper to the manager.
func (o *Options) AddKeeper(mgr manager.Manager) error {
	k := &keeper{Options: o, client: mgr.GetClient(), clock: clock.RealClock{}}
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "webhooks"}}}
	})
	b := builder.ControllerManagedBy(mgr).Named("webhook-keeper").
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false), MaxConcurrentReconciles: 1}).
		Watches(&corev1.Secret{}, one)
	for _, gvk := range []schema.GroupVersionKind{mutatingGVK, validatingGVK, crdGVK} {
		b = b.Watches(newConfig(gvk), one)
	}
	if err := mgr.Add(beginner{k}); err != nil {
		return err
	}
	return b.Complete(k)
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

// Reconcile makes one pass: certificates, then trust.
func (k *keeper) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
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

// certificates reads the Secret, renews what it must, and starts serving with the result.
func (k *keeper) certificates(ctx context.Context) (bundle, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret}}
	err := k.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return bundle{}, err
	}
	b := bundleOf(secret)
	if b.valid(k.serverName(), k.clock.Now()) != nil {
		if b, err = b.renew(k.serverName(), k.clock.Now()); err != nil {
			return bundle{}, fmt.Errorf("making certificates: %w", err)
		}
		if err := k.store(ctx, secret, b); err != nil {
			return bundle{}, err
		}
	}
	pair, err := tls.X509KeyPair(b.servingCert, b.servingKey)
	if err != nil {
		return bundle{}, err
	}
	k.certificate.Store(&pair)
	return b, nil
}

// store creates the Secret, or updates the version that was read: another replica's newer one wins.
func (k *keeper) store(ctx context.Context, secret *corev1.Secret, b bundle) error {
	secret = secret.DeepCopy()
	secret.Data = map[string][]byte{
		keyAuthorityCert: b.authorityCert, keyAuthorityKey: b.authorityKey,
		corev1.TLSCertKey: b.servingCert, corev1.TLSPrivateKeyKey: b.servingKey,
	}
	if secret.ResourceVersion != "" {
		return k.client.Update(ctx, secret)
	}
	secret.Type = corev1.SecretTypeOpaque
	err := k.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, secret.Name, err)
	}
	return err
}

func (k *keeper) injectWebhooks(ctx context.Context, authority []byte) error {
	for _, gvk := range []schema.GroupVersionKind{mutatingGVK, validatingGVK} {
		cfg := newConfig(gvk)
		err := k.client.Get(ctx, client.ObjectKey{Name: k.Component}, cfg)
		if apierrors.IsNotFound(err) {
			continue // its creation wakes us
		}
		if err != nil {
			return err
		}
		patch, err := k.webhookPatch(cfg, authority)
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
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(crdGVK)
	if err := k.client.List(ctx, list, client.MatchingLabelsSelector{Selector: partOfSelector()}); err != nil {
		return err
	}
	for i := range list.Items {
		patch, err := k.conversionPatch(&list.Items[i], authority)
		if err != nil {
			return err
		}
		if err := k.send(ctx, &list.Items[i], patch); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) send(ctx context.Context, obj *unstructured.Unstructured, patch client.Patch) error {
	if patch == nil {
		return nil
	}
	return k.client.Patch(ctx, obj.DeepCopy(), patch, client.FieldOwner(k.Component+"-webhooks"))
}

func bundleOf(s *corev1.Secret) bundle {
	return bundle{
		authorityCert: s.Data[keyAuthorityCert], authorityKey: s.Data[keyAuthorityKey],
		servingCert: s.Data[corev1.TLSCertKey], servingKey: s.Data[corev1.TLSPrivateKeyKey],
	}
}
