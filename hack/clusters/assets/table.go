// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/modfile"
)

// The programs that can be asked for.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
	Kubectl           = "kubectl"
	Etcd              = "etcd"
	Kwok              = "kwok"
	Containerd        = "containerd"
	ContainerdShim    = "containerd-shim-runc-v2"
	Ctr               = "ctr"
	Crictl            = "crictl"
	Bridge            = "bridge"
	HostLocal         = "host-local"
	Loopback          = "loopback"
	Portmap           = "portmap"
)

// program says where a program comes from.
type program struct {
	module string // folder under hack/clusters/kube
	pkg    string // the package to build
}

// module says how the programs of a module are built.
type module struct {
	path string // module path whose version keys the cache
	tags string
}

var modules = map[string]module{
	"kubernetes": {path: "k8s.io/kubernetes"},
	"etcd":       {path: "go.etcd.io/etcd/server/v3"},
	"kwok":       {path: "sigs.k8s.io/kwok"},
	"containerd": {path: "github.com/containerd/containerd/v2", tags: "no_btrfs,no_zfs,no_devmapper"},
	"crictl":     {path: "sigs.k8s.io/cri-tools"},
	"cni":        {path: "github.com/containernetworking/plugins"},
}

var programs = map[string]program{
	APIServer:         {"kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"},
	ControllerManager: {"kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"},
	Scheduler:         {"kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"},
	Kubelet:           {"kubernetes", "k8s.io/kubernetes/cmd/kubelet"},
	Kubectl:           {"kubernetes", "k8s.io/kubernetes/cmd/kubectl"},
	Etcd:              {"etcd", "go.etcd.io/etcd/server/v3"},
	Kwok:              {"kwok", "sigs.k8s.io/kwok/cmd/kwok"},
	Containerd:        {"containerd", "github.com/containerd/containerd/v2/cmd/containerd"},
	ContainerdShim:    {"containerd", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"},
	Ctr:               {"containerd", "github.com/containerd/containerd/v2/cmd/ctr"},
	Crictl:            {"crictl", "sigs.k8s.io/cri-tools/cmd/crictl"},
	Bridge:            {"cni", "github.com/containernetworking/plugins/plugins/main/bridge"},
	HostLocal:         {"cni", "github.com/containernetworking/plugins/plugins/ipam/host-local"},
	Loopback:          {"cni", "github.com/containernetworking/plugins/plugins/main/loopback"},
	Portmap:           {"cni", "github.com/containernetworking/plugins/plugins/meta/portmap"},
}

// Names are all programs that can be asked for, sorted.
func Names() []string { return slices.Sorted(maps.Keys(programs)) }

// moduleDir is the folder of the module's go.mod.
func moduleDir(root, name string) string {
	return filepath.Join(root, "hack", "clusters", "kube", name)
}

// moduleVersion reads from the module's go.mod which version it builds.
func moduleVersion(root, name string) (string, error) {
	path := filepath.Join(moduleDir(root, name), "go.mod")
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	file, err := modfile.ParseLax(path, raw, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Require {
		if r.Mod.Path == modules[name].path {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, modules[name].path)
}
