// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

var (
	fleet  *harness.Fleet
	member *harness.Cluster
)

func TestSpoke(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "spoke")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	fleet, err = harness.Up(ctx, harness.Options{Name: "e2e", Members: 2, FakeNodes: 6})
	Expect(err).NotTo(HaveOccurred())
	member = fleet.Members[0]
}, NodeTimeout(40*time.Minute))

// namespace makes a namespace of its own for a test, in the member, and takes it away afterwards.
func namespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "e2e-"
	Expect(member.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(fleet.Describe(ctx, ns.Name))
		}
		Expect(member.Delete(ctx, ns)).To(Succeed())
	})
	return ns.Name
}
