// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const (
	// soon bounds what needs only our own work, and patient what waits for pods.
	soon    = 30 * time.Second
	patient = 3 * time.Minute
	poll    = 200 * time.Millisecond
)

var fleet *harness.Fleet

func TestHub(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(patient)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "hub", Label("hub"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	fleet, err = harness.Up(ctx, harness.Options{Name: "e2e", Members: 2, FakeNodes: 6})
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(40*time.Minute))

// namespace makes a namespace of its own for a test, on the hub, and takes it away afterwards.
func namespace(ctx context.Context) string {
	GinkgoHelper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "e2e-"
	Expect(fleet.Hub.Create(ctx, ns)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(fleet.Describe(ctx, ns.Name))
		}
		Expect(fleet.DeleteNamespace(ctx, ns.Name)).To(Succeed())
	}, NodeTimeout(patient))
	return ns.Name
}

func clusterNames() []string {
	out := []string{}
	for i := range fleet.Members {
		out = append(out, fmt.Sprintf("member-%d", i+1))
	}
	return out
}
