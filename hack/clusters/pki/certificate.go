// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Request says what a certificate is for.
type Request struct {
	// User is the common name, and Groups the organizations: a Kubernetes client's name and groups.
	User   string
	Groups []string
	// Hosts are the IP addresses and DNS names a server is reached by. With hosts the certificate is for servers,
	// without for clients.
	Hosts []string
}

// Certificate is an issued certificate and its key.
type Certificate struct {
	// CertPath and KeyPath are the files, in PEM.
	CertPath, KeyPath string
}

// PEM reads the certificate and the key.
func (c Certificate) PEM() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(c.CertPath); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(c.KeyPath)
	return cert, key, err
}

// Ensure returns the certificate dir/NAME.crt with dir/NAME.key. It is issued where it is not there, is not of this
// authority, was asked for otherwise, or ends within 30 days.
func (a *Authority) Ensure(dir, name string, req Request) (Certificate, error) {
	c := Certificate{CertPath: filepath.Join(dir, name+".crt"), KeyPath: filepath.Join(dir, name+".key")}
	_, have, err := readCert(c.CertPath)
	if err == nil && a.fits(have, req, time.Now()) {
		return c, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := a.issue(c, req); err != nil {
		return c, fmt.Errorf("issue %s: %w", c.CertPath, err)
	}
	return c, nil
}

// fits reports whether the certificate is what the request asks for.
func (a *Authority) fits(cert *x509.Certificate, req Request, now time.Time) bool {
	ips, names := splitHosts(req.Hosts)
	return cert.CheckSignatureFrom(a.cert) == nil &&
		cert.NotAfter.After(now.Add(renewBefore)) &&
		cert.Subject.CommonName == req.User &&
		slices.Equal(cert.Subject.Organization, req.Groups) &&
		slices.Equal(cert.DNSNames, names) &&
		slices.EqualFunc(cert.IPAddresses, ips, net.IP.Equal)
}

func (a *Authority) issue(c Certificate, req Request) error {
	template, err := newTemplate(pkix.Name{CommonName: req.User, Organization: req.Groups})
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.IPAddresses, template.DNSNames = splitHosts(req.Hosts)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(req.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	key, err := EnsureKey(c.KeyPath)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writeCert(c.CertPath, der)
}

func splitHosts(hosts []string) (ips []net.IP, names []string) {
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			ips = append(ips, ip)
		} else {
			names = append(names, h)
		}
	}
	return ips, names
}
