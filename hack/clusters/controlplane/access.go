// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/flotilla-sh/flotilla/hack/clusters/pki"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// mastersGroup may do everything in a cluster.
const mastersGroup = "system:masters"

// Identity is who a client is to an API server.
type Identity struct {
	// User and Groups as RBAC knows them.
	User   string
	Groups []string
}

// ServiceAccountIdentity is the user and groups of a service account, for processes that run outside pods.
func ServiceAccountIdentity(namespace, name string) Identity {
	return Identity{
		User:   fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
	}
}

// Authority is the certificate authority of a plane (state.Hub or a member's name): of its API server, of its clients
// and, through certificate signing requests, of its kubelets.
func Authority(c *state.Cluster, plane string) (*pki.Authority, error) {
	return pki.EnsureAuthority(pkiDir(c, plane), "ca")
}

// Server is the URL of the plane's API server on loopback.
func Server(c *state.Cluster, plane string) (string, error) {
	port, err := c.Port(plane + "/" + portAPIServer)
	return fmt.Sprintf("https://%s:%d", loopback, port), err
}

// RESTConfig is admin access to the plane.
func RESTConfig(c *state.Cluster, plane string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(plane))
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "flotilla-clusters"
	return config, nil
}

// WriteKubeconfig writes a kubeconfig with a client certificate for the identity, valid for years, to the path. server
// is the API server's URL; Server where empty. A file that is right already is left alone.
func WriteKubeconfig(c *state.Cluster, plane, path, server string, who Identity) error {
	ca, err := Authority(c, plane)
	if err != nil {
		return err
	}
	if server == "" {
		if server, err = Server(c, plane); err != nil {
			return err
		}
	}
	cert, err := ca.Ensure(filepath.Join(pkiDir(c, plane), "clients"), filepath.Base(path), pki.Request{User: who.User, Groups: who.Groups})
	if err != nil {
		return err
	}
	certPEM, keyPEM, err := cert.PEM()
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[plane] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca.CertPEM}
	config.AuthInfos[plane] = &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	config.Contexts[plane] = &clientcmdapi.Context{Cluster: plane, AuthInfo: plane}
	config.CurrentContext = plane
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, raw) {
		return nil
	}
	return state.WriteFile(path, raw, 0o600)
}
