// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// certificates reads the Secret, renews what it must, and starts serving with the result.
func (k *keeper) certificates(ctx context.Context) (bundle, error) {
	secret, err := k.readSecret(ctx)
	if err != nil {
		return bundle{}, err
	}
	b, now := bundleOf(secret), k.clock.Now()
	if b.valid(k.serverName(), now.Add(k.RenewBefore)) != nil {
		if b, err = b.renew(k.serverName(), now, servingLife(k.RenewBefore)); err != nil {
			return bundle{}, fmt.Errorf("making certificates: %w", err)
		}
		if err := k.store(ctx, secret, b); err != nil {
			return bundle{}, err
		}
	}
	return b, k.serve(b)
}

func (k *keeper) readBundle(ctx context.Context) (bundle, error) {
	secret, err := k.readSecret(ctx)
	if err != nil {
		return bundle{}, err
	}
	return bundleOf(secret), nil
}

// readSecret returns the Secret, without data where there is none.
func (k *keeper) readSecret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret}}
	err := k.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	return secret, client.IgnoreNotFound(err)
}

// serve shows a bundle's serving pair from now on.
func (k *keeper) serve(b bundle) error {
	pair, err := tls.X509KeyPair(b.servingCert, b.servingKey)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.authorityCert)
	k.serving.Store(&credentials{pair: &pair, roots: roots})
	return nil
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

func bundleOf(s *corev1.Secret) bundle {
	return bundle{
		authorityCert: s.Data[keyAuthorityCert], authorityKey: s.Data[keyAuthorityKey],
		servingCert: s.Data[corev1.TLSCertKey], servingKey: s.Data[corev1.TLSPrivateKeyKey],
	}
}
