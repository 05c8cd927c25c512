// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// patience is how long programs may take to start or stop on a busy machine.
const patience = 2 * time.Minute

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
	s.env = &envtest.Environment{CRDDirectoryPaths: crdDirs, ErrorIfCRDPathMissing: true, ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience}
	s.env.ControlPlane.GetAPIServer().Path = Program("kube-apiserver")
	s.env.ControlPlane.GetAPIServer().CertDir = t.TempDir() // kept when the server is stopped and started
	s.env.ControlPlane.Etcd = &envtest.Etcd{Path: Program("etcd")}
	policy := filepath.Join(filepath.Dir(s.audit), "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatalf("writing the audit policy: %v", err)
	}
	s.env.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", policy).Append("audit-log-path", s.audit).Append("audit-log-mode", "blocking").
		Append("enable-aggregator-routing", "true") // calls a Service at its EndpointSlices: nothing routes its own address
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

// UserFor returns the access of a user in these groups, with no rights but those that RBAC gives.
func (s *Server) UserFor(t TB, name string, groups ...string) *rest.Config {
	t.Helper()
	user, err := s.env.AddUser(envtest.User{Name: name, Groups: groups}, rest.CopyConfig(s.Config))
	if err != nil {
		t.Fatalf("adding user %s: %v", name, err)
	}
	return user.Config()
}

// StopAPI kills the API server, as a crash would; its data stays. A server that is asked to end waits
// for its watchers.
func (s *Server) StopAPI(t TB) {
	t.Helper()
	dir := s.env.ControlPlane.GetAPIServer().CertDir
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatalf("looking for the API server's process: %v", err)
	}
	for _, file := range list {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatalf("killing the API server: %v", err)
		}
		return
	}
	t.Fatalf("the API server of %s does not run", dir)
}

// StartAPI starts the API server again, at the same address and with the same certificates.
func (s *Server) StartAPI(t TB) {
	t.Helper()
	if err := s.env.ControlPlane.GetAPIServer().Start(); err != nil {
		t.Fatalf("starting the API server again: %v", err)
	}
}

// Root is the folder of the module.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Program finds a program: in KUBEBUILDER_ASSETS, else the newest in the cache of hack/clusters.
func Program(name string) string {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
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
