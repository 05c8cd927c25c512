// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	day           = 24 * time.Hour
	year          = 365 * day
	authorityLife = 10 * year
	// backdate allows for clocks that are a little behind ours.
	backdate = time.Hour
)

// bundle is what the Secret holds, PEM encoded.
type bundle struct {
	authorityCert, authorityKey []byte
	servingCert, servingKey     []byte
}

// servingLife is how long a serving certificate lives that is renewed so long before it ends.
func servingLife(renewBefore time.Duration) time.Duration { return max(year, 2*renewBefore) }

// valid tells whether the serving pair belongs together, and is signed for that host at a time by the authority, be it
// through the intermediate ones that follow the serving certificate.
func (b bundle) valid(host string, at time.Time) error {
	if _, err := tls.X509KeyPair(b.servingCert, b.servingKey); err != nil {
		return fmt.Errorf("serving pair: %w", err)
	}
	chain, err := cert.ParseCertsPEM(b.servingCert)
	if err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(b.authorityCert) {
		return errors.New("authority certificate: none found")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, CurrentTime: at})
	return err
}

// renew returns a bundle for host whose serving certificate lives so long. It keeps the authority while that
// outlives the serving certificate by far; a new one is put before the old one, which stays trusted.
func (b bundle) renew(host string, now time.Time, life time.Duration) (bundle, error) {
	out := b
	authority, key, err := b.authority(now.Add(2 * life))
	if err != nil {
		if authority, key, err = newAuthority(now); err != nil {
			return bundle{}, err
		}
		if out.authorityKey, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
			return bundle{}, err
		}
		out.authorityCert = joinPEM(encodeCert(authority.Raw), firstCert(b.authorityCert))
	}
	serving, servingKey, err := newServing(host, authority, key, now, life)
	if err != nil {
		return bundle{}, err
	}
	out.servingCert = encodeCert(serving)
	out.servingKey, err = keyutil.MarshalPrivateKeyToPEM(servingKey)
	return out, err
}

// authority returns the newest authority if it lives until then.
func (b bundle) authority(until time.Time) (*x509.Certificate, crypto.Signer, error) {
	certs, err := cert.ParseCertsPEM(b.authorityCert)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(b.authorityKey)
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return nil, nil, errors.New("authority key and certificate do not belong together")
	}
	if until.After(certs[0].NotAfter) {
		return nil, nil, errors.New("authority ends soon")
	}
	return certs[0], key, nil
}

func newAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	tmpl, key, err := template("flotilla-webhook-ca", now, authorityLife)
	if err != nil {
		return nil, nil, err
	}
	tmpl.IsCA, tmpl.BasicConstraintsValid = true, true
	tmpl.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	return parsed, key, err
}

func newServing(host string, authority *x509.Certificate, signer crypto.Signer, now time.Time, life time.Duration) ([]byte, *ecdsa.PrivateKey, error) {
	tmpl, key, err := template(host, now, life)
	if err != nil {
		return nil, nil, err
	}
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	tmpl.DNSNames = []string{"localhost"}
	if ip := net.ParseIP(host); ip != nil {
		tmpl.IPAddresses = []net.IP{ip}
	} else {
		tmpl.DNSNames = append(tmpl.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, authority, key.Public(), signer)
	return der, key, err
}

func template(name string, now time.Time, life time.Duration) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
	}, key, nil
}

// firstCert keeps one older authority trusted, so that two rotations do not pile up.
func firstCert(pemData []byte) []byte {
	certs, err := cert.ParseCertsPEM(pemData)
	if err != nil || len(certs) == 0 {
		return nil
	}
	return encodeCert(certs[0].Raw)
}

func joinPEM(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
