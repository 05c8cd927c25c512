// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/spf13/pflag"
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

// Options say where the webhooks of one component are served.
type Options struct {
	// Component names the webhook configurations, mutating and validating: flotilla-hub, flotilla-spoke.
	Component string
	// Namespace of the Secret and the Service.
	Namespace string
	// Port the server listens on (flag, or env WEBHOOK_PORT).
	Port int
	// Host is the name or address by which the API server reaches this process directly. Empty:
	// through the Service (flag, or env WEBHOOK_HOST).
	Host string
	// Service and Secret names; default <component>-webhook and <component>-webhook-certs.
	Service, Secret string

	certificate atomic.Pointer[tls.Certificate]
}

// NewOptions returns the defaults of a component in a namespace.
func NewOptions(component, namespace string) *Options {
	port := 9876
	if p, err := strconv.Atoi(os.Getenv("WEBHOOK_PORT")); err == nil {
		port = p
	}
	return &Options{
		Component: component, Namespace: namespace, Port: port, Host: os.Getenv("WEBHOOK_HOST"),
		Service: component + "-webhook", Secret: component + "-webhook-certs",
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Port, "webhook-port", o.Port, "port of the webhook server (env WEBHOOK_PORT)")
	fs.StringVar(&o.Host, "webhook-host", o.Host, "name or address at which the API server reaches this process; empty: through the Service (env WEBHOOK_HOST)")
	fs.StringVar(&o.Service, "webhook-service", o.Service, "Service of the webhook server")
	fs.StringVar(&o.Secret, "webhook-secret", o.Secret, "Secret that holds the webhook certificates")
}

// Server returns the server to give to the manager. It answers once the keeper has certificates.
func (o *Options) Server() webhook.Server {
	return webhook.NewServer(webhook.Options{Host: o.listenHost(), Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if pair := o.certificate.Load(); pair != nil {
				return pair, nil
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

// Ready is a readiness check: there is a certificate to serve with.
func (o *Options) Ready(*http.Request) error {
	if o.certificate.Load() == nil {
		return fmt.Errorf("no certificate yet in Secret %s/%s", o.Namespace, o.Secret)
	}
	return nil
}

// ByObject narrows the manager's cache to what the keeper needs.
func (o *Options) ByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{o.Namespace: {}},
			Field:      fields.OneTermEqualSelector("metadata.name", o.Secret),
		},
		newConfig(mutatingGVK):   {Field: fields.OneTermEqualSelector("metadata.name", o.Component)},
		newConfig(validatingGVK): {Field: fields.OneTermEqualSelector("metadata.name", o.Component)},
		newConfig(crdGVK):        {Label: partOfSelector(), Transform: stripSchemas},
	}
}

// serverName is what the API server checks the certificate for.
func (o *Options) serverName() string {
	if o.Host != "" {
		return o.Host
	}
	return fmt.Sprintf("%s.%s.svc", o.Service, o.Namespace)
}
