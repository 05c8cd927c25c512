// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/run"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// issuer of service account tokens.
const issuer = "https://kubernetes.default.svc.cluster.local"

func (p *plane) ensureAPIServer(ctx context.Context, env *run.Env, etcd string) error {
	ready, err := p.apiReady()
	if err != nil {
		return err
	}
	print, err := fingerprint(p.serving.CertPath, p.ca.CertPath, p.frontProxyCA.CertPath)
	if err != nil {
		return err
	}
	args := p.apiServerArgs(etcd)
	if env.Cluster.Options.Audit {
		audit, err := p.auditArgs()
		if err != nil {
			return err
		}
		args = append(args, audit...)
	}
	_, err = env.Processes.Ensure(ctx, process.Spec{
		Name:        p.name + "-" + portAPIServer,
		Role:        process.APIServer,
		Path:        env.Programs[assets.APIServer],
		Args:        args,
		Fingerprint: print,
		Ready:       ready,
		Timeout:     3 * time.Minute,
	})
	return err
}

// apiServerArgs: RBAC, all default admission and service accounts are on. Webhooks and aggregated APIs that name a
// Service are called at the pods' addresses (aggregator routing), since nothing makes service IPs work on the host.
func (p *plane) apiServerArgs(etcd string) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--etcd-prefix=/" + p.name,
		"--bind-address=" + loopback,
		"--secure-port=" + p.port(portAPIServer),
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + p.cluster.Path("data", p.name),
		"--tls-cert-file=" + p.serving.CertPath,
		"--tls-private-key-file=" + p.serving.KeyPath,
		"--client-ca-file=" + p.ca.CertPath,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-bootstrap-token-auth=true",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + state.ServiceCIDR(p.cluster.Slot, p.number),
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + p.serviceAccount,
		"--service-account-signing-key-file=" + p.serviceAccountKey,
		"--kubelet-client-certificate=" + p.kubeletClient.CertPath,
		"--kubelet-client-key=" + p.kubeletClient.KeyPath,
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--enable-aggregator-routing=true",
		"--requestheader-client-ca-file=" + p.frontProxyCA.CertPath,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.proxy.CertPath,
		"--proxy-client-key-file=" + p.proxy.KeyPath,
		"--profiling=false",
	}
}

// apiReady asks /readyz as the plane's admin.
func (p *plane) apiReady() (func(context.Context) error, error) {
	cert, err := tls.LoadX509KeyPair(p.kubeletClient.CertPath, p.kubeletClient.KeyPath)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.ca.CertPEM) {
		return nil, errors.New("the certificate authority's file holds no certificate")
	}
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return process.HTTPReady(p.url(portAPIServer, "/readyz"), config), nil
}

// auditPolicy records who wrote what, without the bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// auditArgs turn the audit log on: a line of JSON for each write, in logs/PLANE-audit.log.
func (p *plane) auditArgs() ([]string, error) {
	policy := p.configPath("audit-policy.yaml")
	if err := state.WriteFile(policy, []byte(auditPolicy), 0o644); err != nil {
		return nil, err
	}
	return []string{
		"--audit-policy-file=" + policy,
		"--audit-log-path=" + p.cluster.Path("logs", p.name+"-audit.log"),
		"--audit-log-maxsize=500",
		"--audit-log-maxbackup=1",
	}, nil
}
