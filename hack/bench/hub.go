// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// hubProcess is the hub as its users run it.
type hubProcess struct {
	binary, kubeconfig, log string
	metrics                 string
	cmd                     *exec.Cmd
}

func startHub(ctx context.Context, t *teardown, cfg *rest.Config) (*hubProcess, error) {
	dir := t.TempDir()
	h := &hubProcess{binary: filepath.Join(dir, "flotilla-hub"), kubeconfig: filepath.Join(dir, "kubeconfig"), log: filepath.Join(dir, "log")}
	build := exec.CommandContext(ctx, "go", "build", "-o", h.binary, "./hub")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the hub: %w\n%s", err, out)
	}
	if err := writeKubeconfig(h.kubeconfig, cfg); err != nil {
		return nil, err
	}
	t.Cleanup(h.stop)
	return h, h.start(ctx)
}

func writeKubeconfig(path string, cfg *rest.Config) error {
	k := clientcmdapi.NewConfig()
	k.Clusters["hub"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	k.AuthInfos["hub"] = &clientcmdapi.AuthInfo{ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	k.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "hub"}
	k.CurrentContext = "hub"
	return clientcmd.WriteToFile(*k, path)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start runs the hub and waits until it serves its metrics.
func (h *hubProcess) start(ctx context.Context) error {
	metrics, err := freePort()
	if err != nil {
		return err
	}
	hooks, err := freePort()
	if err != nil {
		return err
	}
	h.metrics = fmt.Sprintf("127.0.0.1:%d", metrics)
	log, err := os.OpenFile(h.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	h.cmd = exec.Command(h.binary, "--kubeconfig", h.kubeconfig, "--metrics-addr", h.metrics, "--health-probe-addr", "0",
		"--webhook-port", strconv.Itoa(hooks), "--webhook-host", "127.0.0.1", "--enable-leader-election=false")
	h.cmd.Stdout, h.cmd.Stderr = log, log
	if err := h.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if _, err := h.reconcileSeconds(); err == nil {
			return nil
		}
	}
	out, _ := os.ReadFile(h.log)
	return fmt.Errorf("the hub does not start; its log:\n%s", out)
}

// stop ends the hub at once, like a crash.
func (h *hubProcess) stop() {
	if h.cmd != nil && h.cmd.Process != nil {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait() // killed is what it should be
		h.cmd = nil
	}
}

// reconcileSeconds is the time spent in passes over placements since the hub started.
func (h *hubProcess) reconcileSeconds() (float64, error) {
	resp, err := http.Get("http://" + h.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	scanner := bufio.NewScanner(resp.Body)
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, `controller_runtime_reconcile_time_seconds_sum{controller="fleetplacement"`) {
			return strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		}
	}
	return 0, scanner.Err()
}

// cpuSeconds is the processor time of the hub since it started.
func (h *hubProcess) cpuSeconds() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const ticksPerSecond = 100 // USER_HZ is 100 on every Linux Go runs on
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

// memory is the resident size of the hub now and at its highest, in MiB.
func (h *hubProcess) memory() (now, highest float64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			now = kib / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			highest = kib / 1024
		}
	}
	return now, highest
}
