// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package spoke

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

// spokeProcess is the spoke of the first member.
const spokeProcess = "member-1-flotilla-spoke"

var _ = Describe("A spoke that hangs", Label("webhooks", "slow"), func() {
	It("holds up no pod for longer than its time-out, and lets workloads be deleted", func(ctx SpecContext) {
		ns := namespace(ctx)
		apply(ctx, ns)
		untilImages(ctx, ns, 10, 0)

		Expect(fleet.Signal(spokeProcess, syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func(context.Context) { Expect(fleet.Signal(spokeProcess, syscall.SIGCONT)).To(Succeed()) })
		began := time.Now()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain", Labels: map[string]string{"app": "plain"}},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64),
				Containers:                    []corev1.Container{{Name: "app", Image: "web:v1"}},
			},
		}
		Expect(member.Create(ctx, pod)).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<", 8*time.Second))
		AddReportEntry("a pod is made while the spoke hangs", time.Since(began).String())
		Eventually(ctx, func() (int, error) {
			pods, err := member.Pods(ctx, ns, "plain")
			return harness.CountReady(pods, "web:v1"), err
		}).Should(Equal(1))

		_, err := member.Kubectl(ctx, "", "-n", ns, "patch", "clonesets", "web", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
		Expect(err).To(MatchError(Or(ContainSubstring("webhook"), ContainSubstring("Timeout"))), "what cannot be checked is refused")
		_, err = member.Kubectl(ctx, "", "-n", ns, "delete", "clonesets", "web", "--wait=false")
		Expect(err).NotTo(HaveOccurred())

		Expect(fleet.Signal(spokeProcess, syscall.SIGCONT)).To(Succeed())
		untilImages(ctx, ns, 0, 0)
	}, SpecTimeout(4*time.Minute))
})
