// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"bytes"
	"embed"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"

	"github.com/flotilla-sh/flotilla/hack/clusters/assets"
	"github.com/flotilla-sh/flotilla/hack/clusters/images"
	"github.com/flotilla-sh/flotilla/hack/clusters/pki"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(templateFiles, "templates/*"))

// values are what the templates are filled with.
type values map[string]any

// runtimeValues are those of containerd and CNI.
func (n node) runtimeValues(registry, runc string, programs map[string]string) values {
	return values{
		"Root": n.path("containerd"), "State": n.path("state"), "Temp": n.path("tmp"), "Opt": n.path("opt"),
		"Socket": n.socket(), "ShimSockets": n.shimSockets(),
		"Snapshotter": snapshotter(machineDir), "PauseImage": images.PauseImage,
		"Registries": n.path("etc", "registries"), "Registry": registry,
		"CNIPrograms": cniFolders(programs), "CNIConfig": n.path("etc", "cni"), "IPAM": n.path("ipam"),
		"IP": n.ip(), "Link": n.link(), "Pods": n.pods(), "Gateway": n.gateway(),
		"Runc": runc, "RuncRoot": n.path("runc"),
	}
}

// kubeletValues are those of kubelet.
func (n node) kubeletValues(ca *pki.Authority, serving pki.Certificate) values {
	return values{
		"IP": n.ip(), "BridgeAddress": n.bridgeAddress(), "Socket": n.socket(), "Cgroup": n.cgroup(),
		"ServingCert": serving.CertPath, "ServingKey": serving.KeyPath, "ClientCA": ca.CertPath,
		"PodLogs": n.path("pods"), "VolumePlugins": n.path("volume-plugins"), "ResolvConf": n.path("etc", "resolv.conf"),
	}
}

// cniFolders are the folders the CNI plugins are in.
func cniFolders(programs map[string]string) []string {
	var dirs []string
	for _, plugin := range cniPlugins {
		if dir := filepath.Dir(programs[plugin]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

var cniPlugins = []string{assets.Bridge, assets.HostLocal, assets.Portmap}

// snapshotter is overlayfs, except on a folder that is on an overlay itself, where the kernel does not allow it.
func snapshotter(dir string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

// writeConfig fills the templates into files and returns all that was written, as a fingerprint of processes.
func writeConfig(v values, files map[string]string) (string, error) {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, name, v); err != nil {
			return "", err
		}
		if err := state.WriteFile(files[name], out.Bytes(), 0o644); err != nil {
			return "", err
		}
		all.Write(out.Bytes())
	}
	return all.String(), nil
}
