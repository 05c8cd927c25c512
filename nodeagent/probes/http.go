// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// maxBody bounds what is read of an answer, in bytes.
	maxBody = 10 << 10
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
	// maxRedirects bounds how many redirects within the pod are followed.
	maxRedirects = 10
	userAgent    = "kube-probe"
)

// get asks the pod at its IP. An answer from 200 to 399 is a success; so is a redirect to another host, which is not
// followed: the pod answered, and the agent asks nobody else.
func get(ctx context.Context, p *corev1.HTTPGetAction, ip string, timeout time.Duration) outcome {
	req, err := request(ctx, p, ip)
	if err != nil {
		return none("httpGet: %w", err)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as kubelet's probes: the pod is known by its IP
		DisableKeepAlives: true, DisableCompression: true, DialContext: dialer(timeout).DialContext,
		MaxResponseHeaderBytes: maxHeader,
	}
	client := http.Client{Transport: transport, Timeout: timeout, CheckRedirect: within}
	resp, err := client.Do(req)
	if err != nil {
		return bad(why(err, timeout))
	}
	defer func() { _ = resp.Body.Close() }() // all that counts was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return bad(why(err, timeout))
	}
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest {
		return bad(fmt.Sprintf("the answer has HTTP status %d", resp.StatusCode))
	}
	return good(string(body))
}

// within lets redirects pass that stay with the pod.
func within(req *http.Request, via []*http.Request) error {
	if req.URL.Hostname() != via[0].URL.Hostname() {
		return http.ErrUseLastResponse
	}
	if len(via) >= maxRedirects {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

func request(ctx context.Context, p *corev1.HTTPGetAction, ip string) (*http.Request, error) {
	where, err := address(ip, p.Port)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(p.Path)
	if err != nil { // kubelet takes it for a mere path, too
		at = &url.URL{Path: p.Path}
	}
	at.Scheme, at.Host, at.User, at.Opaque = strings.ToLower(string(p.Scheme)), where, nil, ""
	if at.Scheme == "" {
		at.Scheme = "http"
	}
	if at.Path != "" && !strings.HasPrefix(at.Path, "/") {
		at.Path = "/" + at.Path
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = headers(p.HTTPHeaders)
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	return req, nil
}

// headers are those of the probe, with a user agent and what is accepted unless it names them. An empty value of one
// of the two leaves it out.
func headers(list []corev1.HTTPHeader) http.Header {
	out := http.Header{}
	for _, h := range list {
		out.Add(h.Name, h.Value)
	}
	if _, named := out["User-Agent"]; !named {
		out.Set("User-Agent", userAgent)
	}
	if values, named := out["Accept"]; !named {
		out.Set("Accept", "*/*")
	} else if len(values) == 1 && values[0] == "" {
		out.Del("Accept")
	}
	return out
}
