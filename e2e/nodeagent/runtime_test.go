// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package nodeagent

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/flotilla-sh/flotilla/e2e/harness"
)

const (
	agentProcess   = "member-1-node-1-flotilla-nodeagent"
	runtimeProcess = "member-1-node-1-containerd"
	// recovery is how soon the agent must use a runtime that answers again.
	recovery = 10 * time.Second
)

// runtimeUp is what the agent of the first node says of its runtime: 1 while it answers.
func runtimeUp(ctx context.Context) (string, error) {
	address, err := fleet.Flag(agentProcess, "metrics-addr")
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/metrics", address), nil)
	if err != nil {
		return "", err
	}
	response, err := direct.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		if value, ok := strings.CutPrefix(scanner.Text(), "flotilla_nodeagent_runtime_up "); ok {
			return value, nil
		}
	}
	return "", scanner.Err()
}

// repair starts what does not run, beside the test; the returned function waits for it.
func repair(ctx context.Context) (wait func()) {
	done := make(chan error, 1)
	go func() { done <- fleet.Repair(ctx) }()
	return func() {
		GinkgoHelper()
		Eventually(ctx, done).Should(Receive(BeNil()))
	}
}

// backInTime waits until the agent uses its runtime, for which it has not long, and tells how long it took.
func backInTime(ctx context.Context) {
	GinkgoHelper()
	began := time.Now()
	Eventually(ctx, runtimeUp).WithTimeout(recovery).Should(Equal("1"))
	GinkgoWriter.Printf("the agent used the runtime %.1f s after it answered\n", time.Since(began).Seconds())
}

var _ = Describe("A node agent without its runtime", Label("nodeagent"), Serial, func() {
	It("is back in ten seconds after a restart of the runtime, and touches no pod", func(ctx SpecContext) {
		set := shop(ctx, 4)
		before := records(ctx, set)
		socket, err := fleet.Flag(agentProcess, "socket-file")
		Expect(err).NotTo(HaveOccurred())
		for _, gone := range []bool{false, true} {
			By(fmt.Sprintf("killing the runtime; its socket goes too: %v", gone))
			Expect(fleet.Signal(runtimeProcess, syscall.SIGKILL)).To(Succeed())
			Eventually(ctx, runtimeUp).Should(Equal("0"))
			if gone {
				Expect(os.Remove(strings.TrimPrefix(socket, "unix://"))).To(Succeed())
			}
			wait := repair(ctx)
			Eventually(ctx, func() error {
				_, err := fleet.Containers(ctx, "member-1-node-1")
				return err
			}).Should(Succeed())
			backInTime(ctx)
			wait()
			for uid, now := range records(ctx, set) {
				sameBut(before[uid], now)
			}
		}
		By("doing its work again")
		edit(ctx, set, harness.Image("web", "web:v2"))
		settled(ctx, set)
		for uid, now := range records(ctx, set) {
			sameBut(before[uid], now, "web")
		}
	}, SpecTimeout(8*time.Minute))
})
