// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

func TestRenew(t *testing.T) {
	const renewBefore = 120 * day
	life := servingLife(renewBefore)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first, err := bundle{}.renew("svc.ns.svc", now, life)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.valid("svc.ns.svc", now); err != nil {
		t.Errorf("a fresh bundle is not valid: %v", err)
	}
	if first.valid("other.ns.svc", now) == nil {
		t.Error("valid for a name it was not made for")
	}
	soon := now.Add(life - renewBefore + time.Hour)
	if first.valid("svc.ns.svc", soon.Add(renewBefore)) == nil {
		t.Error("valid though it ends within the renewal time")
	}
	second, err := first.renew("10.0.0.1", soon, life)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.authorityCert, second.authorityCert) {
		t.Error("the authority changed though it has years to go")
	}
	if err := second.valid("10.0.0.1", soon); err != nil {
		t.Errorf("not valid for an address: %v", err)
	}
	late := now.Add(authorityLife - 2*life + time.Hour)
	third, err := second.renew("svc.ns.svc", late, life)
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

// A chain leads from the serving certificate over intermediate ones to the authority, which need not be in it.
func TestChainWithIntermediate(t *testing.T) {
	const host = "svc.ns.svc"
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	root, rootKey, err := newAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	middle, middleKey := intermediate(t, root, rootKey, now)
	leaf, leafKey, err := newServing(host, middle, middleKey, now, year)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	served := func(chain ...[]byte) bundle {
		return bundle{authorityCert: encodeCert(root.Raw), servingCert: joinPEM(chain...), servingKey: key}
	}
	whole := served(encodeCert(leaf), encodeCert(middle.Raw))
	if err := whole.valid(host, now); err != nil {
		t.Error(err)
	}
	if err := served(encodeCert(leaf), encodeCert(middle.Raw), encodeCert(root.Raw)).valid(host, now); err != nil {
		t.Errorf("with the authority in it: %v", err)
	}
	if served(encodeCert(leaf)).valid(host, now) == nil {
		t.Error("valid though the intermediate one is missing")
	}
	if whole.authorityCert = freshBundle(t, host).authorityCert; whole.valid(host, now) == nil {
		t.Error("valid though another authority signed")
	}
}

func intermediate(t *testing.T, root *x509.Certificate, rootKey *ecdsa.PrivateKey, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	tmpl, key, err := template("intermediate", now, authorityLife)
	if err != nil {
		t.Fatal(err)
	}
	tmpl.IsCA, tmpl.BasicConstraintsValid, tmpl.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, tmpl, root, key.Public(), rootKey)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return out, key
}

// However early certificates are renewed, a fresh one is not renewed at once: that would never end.
func TestFreshCertificatesLast(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, renewBefore := range []time.Duration{time.Hour, year, maxRenewBefore} {
		b, err := bundle{}.renew("svc.ns.svc", now, servingLife(renewBefore))
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.renew("svc.ns.svc", now, servingLife(renewBefore))
		if err != nil || !bytes.Equal(b.authorityCert, again.authorityCert) {
			t.Errorf("%s: the authority is new again (%v)", renewBefore, err)
		}
		if err := b.valid("svc.ns.svc", now.Add(renewBefore)); err != nil {
			t.Errorf("%s: renewed at once: %v", renewBefore, err)
		}
	}
}

func TestRenewBefore(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": defaultRenewBefore, "30d": 30 * day, "6m": 180 * day, "1y": year, "2y": 2 * year,
		"0d": defaultRenewBefore, "-1d": defaultRenewBefore, "3y": defaultRenewBefore, "10": defaultRenewBefore, "d": defaultRenewBefore,
		"1h": defaultRenewBefore, "1.5y": defaultRenewBefore, "99999999999999999999d": defaultRenewBefore, "9223372036854775807y": defaultRenewBefore,
	} {
		if got := renewBefore(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
