// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

func TestRenew(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first, err := bundle{}.renew("svc.ns.svc", now)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.valid("svc.ns.svc", now); err != nil {
		t.Errorf("a fresh bundle is not valid: %v", err)
	}
	if first.valid("other.ns.svc", now) == nil {
		t.Error("valid for a name it was not made for")
	}
	soon := now.Add(servingLife - renewBefore + time.Hour)
	if first.valid("svc.ns.svc", soon) == nil {
		t.Error("valid though it ends within the renewal time")
	}
	second, err := first.renew("10.0.0.1", soon)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.authorityCert, second.authorityCert) {
		t.Error("the authority changed though it has years to go")
	}
	if err := second.valid("10.0.0.1", soon); err != nil {
		t.Errorf("not valid for an address: %v", err)
	}
	late := now.Add(authorityLife - authorityAhead + time.Hour)
	third, err := second.renew("svc.ns.svc", late)
	if err != nil {
		t.Fatal(err)
	}
	certs, err := cert.ParseCertsPEM(third.authorityCert)
	if err != nil || len(certs) != 2 {
		t.Errorf("%d authorities (%v), want the new and the old", len(certs), err)
	}
	if err := third.valid("svc.ns.svc", late); err != nil {
		t.Error(err)
	}
	if (bundle{}).valid("svc.ns.svc", now) == nil || (bundle{authorityCert: []byte("x")}).valid("svc.ns.svc", now) == nil {
		t.Error("an empty or broken bundle is valid")
	}
}
