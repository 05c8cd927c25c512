// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"os"
	"testing"
	"time"
)

func authority(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := EnsureAuthority(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *Authority, dir string, req Request) string {
	t.Helper()
	c, err := a.Ensure(dir, "x", req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(c.CertPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCertificatesAreIssuedAnewOnlyIfNeeded(t *testing.T) {
	dir := t.TempDir()
	a := authority(t, dir)
	server := Request{User: "server", Hosts: []string{"127.0.0.1", "localhost"}}
	first := issue(t, a, dir, server)
	if issue(t, authority(t, dir), dir, server) != first {
		t.Error("the same certificate was issued twice")
	}
	server.Hosts = append(server.Hosts, "10.0.0.1")
	second := issue(t, a, dir, server)
	if second == first {
		t.Error("a certificate for other hosts was kept")
	}
	if issue(t, authority(t, t.TempDir()), dir, server) == second {
		t.Error("a certificate of another authority was kept")
	}
	_, cert, err := readCert(dir + "/x.crt")
	if err != nil {
		t.Fatal(err)
	}
	if a.fits(cert, server, cert.NotAfter.Add(-time.Hour)) {
		t.Error("a certificate about to end was kept")
	}
}

func TestClientCertificateSaysWho(t *testing.T) {
	dir := t.TempDir()
	a := authority(t, dir)
	issue(t, a, dir, Request{User: "jane", Groups: []string{"ops"}})
	_, cert, err := readCert(dir + "/x.crt")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil || cert.Subject.CommonName != "jane" || len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != "ops" {
		t.Errorf("subject %v, error %v", cert.Subject, err)
	}
	if info, err := os.Stat(dir + "/x.key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key %v, error %v", info.Mode(), err)
	}
}
