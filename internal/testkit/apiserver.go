// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Server is a running API server with its etcd.
type Server struct {
	// Config is an administrator's access.
	Config *rest.Config

	env   *envtest.Environment
	audit string
}

// TB is what Start needs of a test: testing.TB and ginkgo's GinkgoTB both have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}

// Start starts an API server with the CRDs found under the given folders, relative to the module's
// root, and stops it when the test ends. Without folders it installs generated/manifests/crd.
// Programs come from KUBEBUILDER_ASSETS, or from the cache that hack/clusters fills.
func Start(t TB, crdDirs ...string) *Server {
	t.Helper()
	if len(crdDirs) == 0 {
		crdDirs = []string{"generated/manifests/crd"}
	}
	for i, dir := range crdDirs {
		if !filepath.IsAbs(dir) {
			crdDirs[i] = filepath.Join(Root(), dir)
		}
	}
	s := &Server{audit: filepath.Join(t.TempDir(), "audit.log")}
	s.env = &envtest.Environment{CRDDirectoryPaths: crdDirs, ErrorIfCRDPathMissing: true}
	s.env.ControlPlane.GetAPIServer().Path = program("kube-apiserver")
	s.env.ControlPlane.Etcd = &envtest.Etcd{Path: program("etcd")}
	policy := filepath.Join(filepath.Dir(s.audit), "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatalf("writing the audit policy: %v", err)
	}
	s.env.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).Append("audit-log-path", s.audit).Append("audit-log-mode", "blocking")
	cfg, err := s.env.Start()
	if err != nil {
		t.Fatalf("starting an API server (run `go run ./hack/clusters assets` first, or set KUBEBUILDER_ASSETS): %v", err)
	}
	t.Cleanup(func() {
		if err := s.env.Stop(); err != nil {
			t.Fatalf("stopping the API server: %v", err)
		}
	})
	cfg.QPS, cfg.Burst = 1000, 2000
	s.Config = cfg
	return s
}

// ConfigFor returns an administrator's access under a user agent, so that writes can be told apart.
func (s *Server) ConfigFor(userAgent string) *rest.Config {
	cfg := rest.CopyConfig(s.Config)
	cfg.UserAgent = userAgent
	return cfg
}

// Root is the folder of the module.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// program finds a program: in KUBEBUILDER_ASSETS, else the newest in the cache of hack/clusters.
func program(name string) string {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		return filepath.Join(dir, name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	found, err := filepath.Glob(filepath.Join(cache, "flotilla", "bin", "*", name))
	if err != nil || len(found) == 0 {
		return name
	}
	slices.SortFunc(found, strings.Compare)
	return found[len(found)-1]
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// String says where the server is.
func (s *Server) String() string { return fmt.Sprintf("API server at %s", s.Config.Host) }
