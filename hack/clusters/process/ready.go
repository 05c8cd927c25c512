// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// HTTPReady is ready when a GET of the URL answers 200. Serving certificates are not checked unless config is given.
func HTTPReady(url string, config *tls.Config) func(context.Context) error {
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // only asks our own process on loopback whether it is well
	}
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return fmt.Errorf("%s answered %s: %s", url, resp.Status, body)
	}
}

// ListenReady is ready when something listens at the address; network is "tcp" or "unix".
func ListenReady(network, address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// FileReady is ready when the file exists and holds something.
func FileReady(path string) func(context.Context) error {
	return func(context.Context) error {
		info, err := os.Stat(path)
		if err == nil && info.Size() == 0 {
			err = fmt.Errorf("%s is empty", path)
		}
		return err
	}
}
