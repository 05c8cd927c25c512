// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package uniteddeployment

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// agent is the user agent of the controller under test.
const agent = "ud-under-test"

var (
	server *testkit.Server
	admin  client.Client
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	server = testkit.Start(t)
	var err error
	if admin, err = client.New(server.ConfigFor("admin"), client.Options{Scheme: scheme()}); err != nil {
		t.Fatal(err)
	}
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "UnitedDeployment")
}

// start runs the controller until the returned function is called, which waits for its end.
func start(cfg *rest.Config) (stop func()) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	opts := bootstrap.NewOptions(agent)
	opts.LeaderElect, opts.MetricsAddr, opts.HealthAddr = false, "0", "0"
	mgr, err := opts.Manager(cfg, scheme(), nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(add(ctx, mgr)).To(Succeed())
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return func() {
		cancel()
		<-done
	}
}

func add(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, ownership.ControllerUIDIndex, ownership.IndexByController); err != nil {
		return err
	}
	if err := workload.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return Add(mgr, Options{SkipNameValidation: true})
}
