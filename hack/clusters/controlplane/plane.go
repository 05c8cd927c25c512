// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"strconv"

	"github.com/flotilla-sh/flotilla/hack/clusters/pki"
	"github.com/flotilla-sh/flotilla/hack/clusters/process"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// loopback is where control planes listen.
const loopback = "127.0.0.1"

// plane is one control plane: its place in the set, its ports, and its files.
type plane struct {
	cluster *state.Cluster
	name    string
	number  int // 0 is the hub
	ports   map[string]int

	ca, frontProxyCA                  *pki.Authority
	serving, kubeletClient, proxy     pki.Certificate
	serviceAccountKey, serviceAccount string // private and public half
}

// The keys of a plane's ports, after its name and a slash.
const (
	portAPIServer = "kube-apiserver"
	portManager   = "kube-controller-manager"
	portScheduler = "kube-scheduler"
)

// newPlane reserves the plane's ports and makes its certificates.
func newPlane(c *state.Cluster, number int, name string) (*plane, error) {
	p := &plane{cluster: c, name: name, number: number, ports: map[string]int{}}
	keys := []string{portAPIServer, portManager, portScheduler}
	if p.isHub() {
		keys = keys[:2]
	}
	for _, key := range keys {
		port, err := c.Port(name + "/" + key)
		if err != nil {
			return nil, err
		}
		p.ports[key] = port
	}
	if err := p.makeAuthorities(); err != nil {
		return nil, err
	}
	return p, p.makeCertificates()
}

func (p *plane) isHub() bool { return p.number == 0 }

func (p *plane) pkiDir() string { return pkiDir(p.cluster, p.name) }

func pkiDir(c *state.Cluster, plane string) string { return c.Path("pki", plane) }

// configPath is the path of one of the plane's configuration files.
func (p *plane) configPath(file string) string { return p.cluster.Path("config", p.name, file) }

func (p *plane) makeAuthorities() error {
	var err error
	if p.ca, err = Authority(p.cluster, p.name); err != nil {
		return err
	}
	if p.frontProxyCA, err = pki.EnsureAuthority(p.pkiDir(), "front-proxy-ca"); err != nil {
		return err
	}
	p.serviceAccountKey, p.serviceAccount = p.cluster.Path("pki", p.name, "service-account.key"), p.cluster.Path("pki", p.name, "service-account.pub")
	key, err := pki.EnsureKey(p.serviceAccountKey)
	if err != nil {
		return err
	}
	return pki.WritePublicKey(p.serviceAccount, key)
}

func (p *plane) makeCertificates() error {
	hosts := append([]string{
		loopback, "localhost", state.APIServiceIP(p.cluster.Slot, p.number),
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}, p.cluster.ServingAddresses...)
	var err error
	if p.serving, err = p.ca.Ensure(p.pkiDir(), "kube-apiserver", pki.Request{User: "kube-apiserver", Hosts: hosts}); err != nil {
		return err
	}
	client := pki.Request{User: "kube-apiserver-kubelet-client", Groups: []string{mastersGroup}}
	if p.kubeletClient, err = p.ca.Ensure(p.pkiDir(), "kubelet-client", client); err != nil {
		return err
	}
	p.proxy, err = p.frontProxyCA.Ensure(p.pkiDir(), "front-proxy-client", pki.Request{User: "front-proxy-client"})
	return err
}

func (p *plane) port(key string) string { return strconv.Itoa(p.ports[key]) }

// url is the address of what listens on the plane's port.
func (p *plane) url(key, path string) string {
	return fmt.Sprintf("https://%s:%d%s", loopback, p.ports[key], path)
}

// fingerprint stands for the contents of the files.
func fingerprint(paths ...string) (string, error) {
	contents := make([][]byte, 0, len(paths))
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		contents = append(contents, raw)
	}
	return process.Fingerprint(contents...), nil
}
