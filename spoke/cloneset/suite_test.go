//go:build integration

// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const (
	userAgent = "flotilla-spoke-test"
	// defaultRuns: the unit tests simulate in earnest.
	defaultRuns = 100
)

var (
	server *testkit.Server
	scheme *runtime.Scheme
	admin  client.Client
	nodes  *fakeNodes
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "CloneSet on a real API server")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	server = testkit.Start(GinkgoTB())
	scheme = runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(appsv1beta1.AddToScheme(scheme)).To(Succeed())
	var err error
	admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	nodes = startFakeNodes()
})

// spoke is one run of the controller, as one process would be.
type spoke struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startSpoke runs the controller in a manager of its own until stop.
func startSpoke(options Options) *spoke {
	mgr := newManager(userAgent)
	Expect(Add(context.Background(), mgr, options)).To(Succeed())
	s := &spoke{done: make(chan struct{})}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() {
		defer GinkgoRecover()
		defer close(s.done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return s
}

func (s *spoke) stop() {
	s.cancel()
	<-s.done
}

func newManager(agent string) manager.Manager {
	mgr, err := ctrl.NewManager(server.ConfigFor(agent), manager.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:                  client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true), MaxConcurrentReconciles: 3},
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	Expect(err).NotTo(HaveOccurred())
	ctx := context.Background()
	Expect(mgr.GetFieldIndexer().IndexField(ctx, &appsv1beta1.ImagePullJob{}, ownership.ControllerUIDIndex, ownership.IndexByController)).To(Succeed())
	return mgr
}

// newNamespace makes a namespace for one spec.
func newNamespace(ctx context.Context) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	Expect(admin.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func() { // a set that waits for something would go on trying beside the specs that count writes
		Expect(admin.DeleteAllOf(ctx, &appsv1beta1.CloneSet{}, client.InNamespace(ns.Name))).To(Succeed())
	})
	return ns.Name
}
