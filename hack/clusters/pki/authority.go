// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

const (
	validity = 10 * 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is issued anew.
	renewBefore = 30 * 24 * time.Hour
)

// Authority is a certificate authority.
type Authority struct {
	// CertPath and KeyPath are the files with its certificate and key, in PEM.
	CertPath, KeyPath string
	// CertPEM is the certificate, as clients want it.
	CertPEM []byte

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// EnsureAuthority reads the authority dir/NAME.crt and dir/NAME.key, or makes it.
func EnsureAuthority(dir, name string) (*Authority, error) {
	a := &Authority{CertPath: filepath.Join(dir, name+".crt"), KeyPath: filepath.Join(dir, name+".key")}
	err := a.read()
	if errors.Is(err, fs.ErrNotExist) {
		if err = a.make(name); err == nil {
			err = a.read()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", a.CertPath, err)
	}
	return a, nil
}

func (a *Authority) read() error {
	var err error
	if a.CertPEM, a.cert, err = readCert(a.CertPath); err != nil {
		return err
	}
	a.key, err = readKey(a.KeyPath)
	return err
}

func (a *Authority) make(name string) error {
	template, err := newTemplate(pkix.Name{CommonName: "flotilla-clusters-" + name})
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := EnsureKey(a.KeyPath)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	return writeCert(a.CertPath, der)
}

// newTemplate is a certificate for the subject, valid from an hour ago.
func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity)}, err
}

// EnsureKey reads the P-256 key in the file (PEM), or makes it.
func EnsureKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, state.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// WritePublicKey writes the public half of the key to the file (PEM), unless the file is there.
func WritePublicKey(path string, key *ecdsa.PrivateKey) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return state.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	block, _, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	return x509.ParseECPrivateKey(block)
}

func readCert(path string) ([]byte, *x509.Certificate, error) {
	block, raw, err := readPEM(path)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(block)
	return raw, cert, err
}

func readPEM(path string) (block, raw []byte, err error) {
	if raw, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	b, _ := pem.Decode(raw)
	if b == nil {
		return nil, nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return b.Bytes, raw, nil
}

func writeCert(path string, der []byte) error {
	return state.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}
