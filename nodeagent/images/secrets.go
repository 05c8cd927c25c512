// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/credentials"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// keepSecret is how long a Secret that was read is used.
const keepSecret = 5 * time.Minute

// Keyring finds credentials in pull secrets and with plugins, in this order.
type Keyring struct {
	// Reader reads Secrets, past any cache.
	Reader client.Reader
	// Namespace is the only one whose Secrets are read; those of others are passed over.
	Namespace string
	Plugins   *credentials.Plugins
	Now       func() time.Time

	mu    sync.Mutex
	cache map[string]read
}

type read struct {
	entries []credentials.Entry
	until   time.Time
}

// For implements Credentials. A Secret that cannot be read, or a plugin that fails, costs its credentials only; why is
// logged.
func (k *Keyring) For(ctx context.Context, repository string, secrets []v1beta1.ReferenceObject) ([]cri.Auth, error) {
	var entries []credentials.Entry
	for _, ref := range secrets {
		entries = append(entries, k.secret(ctx, ref)...)
	}
	out := credentials.For(repository, entries)
	provided, err := k.Plugins.Credentials(ctx, repository)
	if err != nil {
		log.FromContext(ctx).Info("A credential provider failed", "image", repository, "reason", err.Error())
	}
	return append(out, credentials.For(repository, provided)...), nil
}

// Forget implements Credentials.
func (k *Keyring) Forget(secrets []v1beta1.ReferenceObject) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, ref := range secrets {
		delete(k.cache, ref.Name)
	}
}

func (k *Keyring) secret(ctx context.Context, ref v1beta1.ReferenceObject) []credentials.Entry {
	logger := log.FromContext(ctx).WithValues("secret", ref.Namespace+"/"+ref.Name)
	if ref.Namespace != k.Namespace {
		logger.Info("A pull secret is passed over: it is in another namespace", "namespace", k.Namespace)
		return nil
	}
	if entries, ok := k.cached(ref.Name); ok {
		return entries
	}
	var secret corev1.Secret
	fromCache := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}} // of the API server: it costs etcd nothing
	if err := k.Reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret, fromCache); err != nil {
		logger.Info("A pull secret is passed over: it cannot be read", "reason", err.Error())
		return nil
	}
	entries, err := credentials.OfSecret(&secret)
	if err != nil {
		logger.Info("A pull secret is passed over", "reason", err.Error())
	}
	k.keep(ref.Name, entries)
	return entries
}

// cached returns what was read of a Secret of late. The lock is held over no request: one slow read holds up no other.
func (k *Keyring) cached(name string) ([]credentials.Entry, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.cache[name]
	return r.entries, ok && k.Now().Before(r.until)
}

func (k *Keyring) keep(name string, entries []credentials.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	maps.DeleteFunc(k.cache, func(_ string, r read) bool { return !now.Before(r.until) })
	if k.cache == nil {
		k.cache = map[string]read{}
	}
	k.cache[name] = read{entries, now.Add(keepSecret)}
}
