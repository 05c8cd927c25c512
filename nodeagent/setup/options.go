// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/bootstrap"
)

// Options are the settings of the agent.
type Options struct {
	*bootstrap.Options
	// NodeName is the node the agent serves.
	NodeName string
	// PodName is the agent's own pod, in Namespace; "" when it runs in none.
	PodName string
	// SocketFile names the runtime's socket, "" to look for it; see cri.Candidates.
	SocketFile string
	// HostRunDir is where the host's /run is mounted; when it is not there /run itself is used.
	HostRunDir string
	// ContainerMetaWorkers is how many pods are reported at once.
	ContainerMetaWorkers int
	// PullWorkers is how many images are pulled at once; 0 or less: no bound.
	PullWorkers int
	// PluginConfigFile is the kubelet's CredentialProviderConfig, which need not be there, PluginBinDir the folder with
	// its programs.
	PluginConfigFile, PluginBinDir string
	// SecretNamespace is the only namespace whose Secrets are read.
	SecretNamespace string
	// ProbesAtOnce is how many custom probes run at once.
	ProbesAtOnce int
}

// NewOptions returns the defaults. Every node has an agent and each is busy only when its own pods change: so
// no leader is elected, and a small share of the API server's capacity is enough.
func NewOptions() *Options {
	o := &Options{
		Options:              bootstrap.NewOptions("flotilla-nodeagent"),
		NodeName:             os.Getenv("NODE_NAME"),
		PodName:              os.Getenv("POD_NAME"),
		HostRunDir:           "/hostvarrun",
		ContainerMetaWorkers: 5,
		PullWorkers:          -1,
		PluginConfigFile:     "/kruise/CredentialProviderPlugin.yaml",
		PluginBinDir:         "/kruise/plugins",
		SecretNamespace:      cmp.Or(os.Getenv(v1beta1.DaemonConfigNamespaceEnv), v1beta1.KruiseDaemonConfigNamespace),
		ProbesAtOnce:         64,
	}
	o.MetricsAddr, o.HealthAddr = ":10221", "0"
	o.QPS, o.Burst = 20, 40
	o.LeaderElect = false
	return o
}

// AddFlags puts the flags for the options into fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Options.AddFlags(fs)
	fs.StringVar(&o.NodeName, "node-name", o.NodeName, "name of the node to serve (env NODE_NAME)")
	fs.StringVar(&o.PodName, "pod-name", o.PodName, "the agent's own pod, which gets condition flotilla.sh/ContainerRuntimeUsable (env POD_NAME); empty: none does")
	fs.StringVar(&o.SocketFile, "socket-file", o.SocketFile, "socket of the container runtime: a file name below --host-run-dir, an absolute path or a unix:// endpoint; empty: look for it")
	fs.StringVar(&o.HostRunDir, "host-run-dir", o.HostRunDir, "where the host's /run is mounted; if it is not there, /run is used")
	fs.StringVar(&o.MetricsAddr, "addr", o.MetricsAddr, "the same as --metrics-addr, which serves /healthz and /readyz too")
	fs.IntVar(&o.PullWorkers, "max-workers-for-pull-image", o.PullWorkers, "how many images are pulled at once on this node; 0 or less: no bound")
	fs.StringVar(&o.PluginConfigFile, "plugin-config-file", o.PluginConfigFile, "the kubelet's CredentialProviderConfig; a file that is not there means no plugins")
	fs.StringVar(&o.PluginBinDir, "plugin-bin-dir", o.PluginBinDir, "folder with the programs of the credential providers")
	fs.IntVar(&o.ContainerMetaWorkers, "container-meta-workers", o.ContainerMetaWorkers, "how many pods have their containers reported at once")
	fs.IntVar(&o.ProbesAtOnce, "probes-at-once", o.ProbesAtOnce, "how many custom probes run at once; those beyond wait for their turn")
}

// Validate returns what is wrong with the options, each with its flag.
func (o *Options) Validate() error {
	var errs []error
	if o.NodeName == "" {
		errs = append(errs, errors.New("--node-name or NODE_NAME is required: the agent serves one node and must know which"))
	}
	if o.ContainerMetaWorkers < 1 {
		errs = append(errs, fmt.Errorf("--container-meta-workers is %d, must be at least 1", o.ContainerMetaWorkers))
	}
	if o.ProbesAtOnce < 1 {
		errs = append(errs, fmt.Errorf("--probes-at-once is %d, must be at least 1", o.ProbesAtOnce))
	}
	if o.LeaderElect {
		errs = append(errs, errors.New("--enable-leader-election must not be set: the agent of every node is needed"))
	}
	return errors.Join(errs...)
}

// runDirs are the directories in which sockets are looked for.
func (o *Options) runDirs() []string {
	if info, err := os.Stat(o.HostRunDir); err == nil && info.IsDir() {
		return []string{o.HostRunDir}
	}
	return []string{"/run"}
}
