// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/pki"
)

func TestConfigs(t *testing.T) {
	n := node{place: place{slot: 3}, member: 2, number: 1}
	programs := map[string]string{assets.Bridge: "/a/bridge", assets.HostLocal: "/a/host-local", assets.Portmap: "/b/portmap"}
	all := n.runtimeValues("127.0.0.1:20001", "/usr/sbin/runc", programs)
	for k, v := range n.kubeletValues(&pki.Authority{CertPath: "/ca.crt"}, pki.Certificate{CertPath: "/n.crt", KeyPath: "/n.key"}) {
		all[k] = v
	}
	dir := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"containerd.toml", "hosts.toml", "cni.conflist", "kubelet.yaml"} {
		files[name] = filepath.Join(dir, name)
	}
	print, err := writeConfig(all, files)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		raw, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(print, string(raw)) {
			t.Errorf("the fingerprint leaves out %s", name)
		}
		return raw
	}
	var network struct{ Name string }
	if err := json.Unmarshal(read("cni.conflist"), &network); err != nil || network.Name != "flot3-2-1" {
		t.Errorf("network %q, %v", network.Name, err)
	}
	var kubelet map[string]any
	if err := yaml.Unmarshal(read("kubelet.yaml"), &kubelet); err != nil || kubelet["cgroupRoot"] != "/flot3-2-1" || kubelet["address"] != "243.0.2.1" {
		t.Errorf("kubelet %v, %v", kubelet, err)
	}
	for name, want := range map[string]string{"containerd.toml": "bin_dirs = ['/a', '/b']", "hosts.toml": `server = "http://127.0.0.1:20001"`} {
		if !strings.Contains(string(read(name)), want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
}

func TestConfigWithoutValueFails(t *testing.T) {
	if _, err := writeConfig(values{}, map[string]string{"hosts.toml": filepath.Join(t.TempDir(), "f")}); err == nil {
		t.Error("no error although a value is missing")
	}
}
