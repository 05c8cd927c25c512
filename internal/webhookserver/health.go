// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// patience bounds one look at our own server.
const patience = 2 * time.Second

// Ready is a readiness check: there are certificates, those of somebody else were once trusted wherever ours would
// be, and our own server answers over HTTPS with them.
func (o *Options) Ready(probe *http.Request) error {
	if text := o.problem.Load(); text != nil && !o.trusted.Load() {
		return errors.New(*text)
	}
	now := o.serving.Load()
	if now == nil {
		return fmt.Errorf("no certificate yet in Secret %s/%s", o.Namespace, o.Secret)
	}
	host := o.listenHost()
	if host == "" {
		host = "localhost"
	}
	url := "https://" + net.JoinHostPort(host, strconv.Itoa(o.Port)) + healthPath
	request, err := http.NewRequestWithContext(probe.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true, // each look is a handshake with the certificates of now
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: now.roots, ServerName: o.serverName()},
	}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("our own webhook server does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("our own webhook server answers %s", response.Status)
	}
	return nil
}
