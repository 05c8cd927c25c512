// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

var (
	fleet *harness.Fleet
	// member is the first one, for what concerns one cluster only.
	member *harness.Cluster
)

func TestNodeagent(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "nodeagent", Label("real"))
}

// The fleet is not brought up where no spec of this package is asked for.
var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(os.Geteuid()).To(BeZero(), "real nodes need root; leave these specs out with --ginkgo.label-filter='!real'")
	var err error
	fleet, err = harness.Up(ctx, harness.Options{Name: "e2e-real", Members: 2, RealNodes: 2})
	Expect(err).NotTo(HaveOccurred())
	member = fleet.Members[0]
}, NodeTimeout(40*time.Minute))

// namespace makes a namespace of its own for a test, on the hub, and takes it away afterwards.
func namespace(ctx context.Context) string { return namespaceOn(ctx, fleet.Hub) }

// memberNamespace does so in the first member, for tests that need no hub.
func memberNamespace(ctx context.Context) string { return namespaceOn(ctx, member) }

func namespaceOn(ctx context.Context, cluster *harness.Cluster) string {
	GinkgoHelper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "e2e-"
	Expect(cluster.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(fleet.Describe(ctx, ns.Name))
		}
		Expect(fleet.DeleteNamespace(ctx, ns.Name)).To(Succeed())
	}, NodeTimeout(3*time.Minute))
	return ns.Name
}
