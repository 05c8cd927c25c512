// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package setup

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// hubAgent is the user agent of the hub under test: its writes are counted.
const hubAgent = "flotilla-hub"

// staleAfter is short, so that staleness can be waited for.
const staleAfter = 4 * time.Second

var (
	server *testkit.Server
	admin  client.Client
	hub    *process
)

func TestHub(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "hub")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "open-cluster-management.io/api").Output()
	Expect(err).NotTo(HaveOccurred())
	ocm := strings.TrimSpace(string(out))
	server = testkit.Start(GinkgoT(), "generated/manifests/crd", filepath.Join(ocm, "cluster/v1"), filepath.Join(ocm, "cluster/v1beta1"))
	admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: Scheme()})
	Expect(err).NotTo(HaveOccurred())
	ensureNamespace(ctx, "flotilla-system")
	hub = startHub()
	DeferCleanup(func() { hub.stop() })
}, NodeTimeout(2*time.Minute))

// process is a hub that runs in this process and can be stopped like one that is killed: its caches and
// memory are gone.
type process struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func startHub() *process {
	GinkgoHelper()
	hooks := webhookserver.NewOptions(hubAgent, "flotilla-system")
	mgr, err := manager.New(server.ConfigFor(hubAgent), manager.Options{
		Scheme:                  Scheme(),
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: ByObject(hooks)},
		Client:                  client.Options{Cache: &client.CacheOptions{Unstructured: true, EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	Expect(err).NotTo(HaveOccurred())
	opts := NewOptions()
	opts.Namespace, opts.StaleAfter = "flotilla-system", staleAfter
	Expect(AddControllers(mgr, opts)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = mgr.Start(ctx) // a stop in the middle of a pass may be an error
	}()
	return p
}

func (p *process) stop() {
	p.cancel()
	<-p.done
}
