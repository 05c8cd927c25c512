// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"

	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// certificatesFor makes an authority, and a serving pair of it for a host.
func certificatesFor(t *testing.T, host string) (authority, pair, key []byte) {
	t.Helper()
	chain, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf, rest := pem.Decode(chain)
	if leaf == nil || len(bytes.TrimSpace(rest)) == 0 {
		t.Fatal("the chain has no authority")
	}
	return rest, pem.EncodeToMemory(leaf), key
}

// awaitReady waits until the spoke is ready, or says why not in all these words.
func (s *shipped) awaitReady(hooks *webhookserver.Options, says ...string) {
	s.t.Helper()
	s.await(fmt.Sprintf("readiness says %q", says), func(context.Context) error {
		err := hooks.Ready(httptest.NewRequest("GET", "/readyz", nil))
		switch {
		case len(says) == 0:
			return err
		case err == nil:
			return errors.New("it is ready")
		}
		for _, text := range says {
			if !strings.Contains(err.Error(), text) {
				return err
			}
		}
		return nil
	})
}
