// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
)

const (
	defaultRenewBefore = 120 * day
	// maxRenewBefore leaves the authority time to sign a certificate that lives twice as long.
	maxRenewBefore = 2 * year
)

// Options say where the webhooks of one component are served.
type Options struct {
	// Component names the webhook configurations, mutating and validating: flotilla-hub, flotilla-spoke.
	Component string
	// Namespace of the Secret and the Service, which is the one this component runs in.
	Namespace string
	// Port the server listens on (flag, or env WEBHOOK_PORT).
	Port int
	// Host is the name or address by which the API server reaches this process directly. Empty:
	// through the Service (flag, or env WEBHOOK_HOST).
	Host string
	// Service and Secret names (flags, or env SERVICE_NAME and SECRET_NAME); default <component>-webhook and
	// <component>-webhook-certs.
	Service, Secret string
	// RenewBefore is how long before its end a serving certificate is renewed (env CERTS_RENEW_BEFORE).
	RenewBefore time.Duration
	// ProbeEvery is how often the API server is asked to reach us while it does; default a minute.
	ProbeEvery time.Duration

	// external is gate EnableExternalCerts: the Secret is somebody else's, and nothing is patched.
	external bool
	// served are the paths of admission webhooks, and whether each is gated off.
	served map[string]bool
	// serving is what the server shows; nil until there is a certificate.
	serving atomic.Pointer[credentials]
	// problem is what keeps external certificates from being trusted; nil when nothing does.
	problem atomic.Pointer[string]
	// trusted is set for good when there was no problem with external certificates once.
	trusted atomic.Bool
}

// credentials are a serving pair and whom to trust to believe it.
type credentials struct {
	pair  *tls.Certificate
	roots *x509.CertPool
}

// NewOptions returns the defaults of a component in a namespace.
func NewOptions(component, namespace string) *Options {
	port := 9876
	if p, err := strconv.Atoi(os.Getenv("WEBHOOK_PORT")); err == nil {
		port = p
	}
	return &Options{
		Component: component, Namespace: namespace, Port: port, Host: os.Getenv("WEBHOOK_HOST"),
		Service:     envOr("SERVICE_NAME", component+"-webhook"),
		Secret:      envOr("SECRET_NAME", component+"-webhook-certs"),
		RenewBefore: renewBefore(os.Getenv("CERTS_RENEW_BEFORE")),
		ProbeEvery:  time.Minute,
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Port, "webhook-port", o.Port, "port of the webhook server (env WEBHOOK_PORT)")
	fs.StringVar(&o.Host, "webhook-host", o.Host, "name or address at which the API server reaches this process; empty: through the Service. "+
		"Manifests that are applied must then say urls instead of the Service (env WEBHOOK_HOST)")
	fs.StringVar(&o.Service, "webhook-service", o.Service, "Service of the webhook server (env SERVICE_NAME)")
	fs.StringVar(&o.Secret, "webhook-secret", o.Secret, "Secret that holds the webhook certificates; its name is in our Role as well (env SECRET_NAME)")
}

// renewBefore reads a number of days, months of 30 days, or years, such as 30d, 6m, 1y. What is none of these,
// less than a day, or more than two years, is the default.
func renewBefore(text string) time.Duration {
	units := map[byte]time.Duration{'d': day, 'm': 30 * day, 'y': year}
	if text == "" {
		return defaultRenewBefore
	}
	last := len(text) - 1
	unit, ok := units[text[last]]
	n, err := strconv.Atoi(text[:last])
	if !ok || err != nil || n < 1 || n > int(maxRenewBefore/unit) {
		return defaultRenewBefore
	}
	return time.Duration(n) * unit
}

func envOr(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}
