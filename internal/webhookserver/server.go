// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// PartOfLabel with value PartOf is on every CRD and webhook configuration of ours.
	PartOfLabel = "app.kubernetes.io/part-of"
	// PartOf is the value of PartOfLabel.
	PartOf = "flotilla"
)

// Server returns the server to give to the manager. It answers once the keeper has certificates.
func (o *Options) Server() webhook.Server {
	return webhook.NewServer(webhook.Options{Host: o.listenHost(), Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if now := o.serving.Load(); now != nil {
				return now.pair, nil
			}
			return nil, errors.New("no webhook certificate yet")
		}
	}}})
}

// listenHost is the address to listen on: the one the API server is told to call, or all where that is a name.
func (o *Options) listenHost() string {
	if net.ParseIP(o.Host) == nil {
		return ""
	}
	return o.Host
}

// ByObject narrows the manager's cache to what the keeper needs.
func (o *Options) ByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{o.Namespace: {}},
			Field:      fields.OneTermEqualSelector("metadata.name", o.Secret),
		},
		newConfig(mutatingGVK):   o.withOwners(),
		newConfig(validatingGVK): o.withOwners(),
		newConfig(crdGVK):        {Label: partOfSelector(), Transform: stripSchemas},
	}
}

// withOwners caches our own configuration whole: the keeper looks at who owns what of it.
func (o *Options) withOwners() cache.ByObject {
	return cache.ByObject{
		Field:     fields.OneTermEqualSelector("metadata.name", o.Component),
		Transform: func(obj any) (any, error) { return obj, nil },
	}
}

// serverName is what the API server checks the certificate for.
func (o *Options) serverName() string {
	if o.Host != "" {
		return o.Host
	}
	return fmt.Sprintf("%s.%s.svc", o.Service, o.Namespace)
}
