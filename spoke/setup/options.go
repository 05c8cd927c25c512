// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// Options are the spoke's own settings.
type Options struct {
	// HubKubeconfig is a file with access to the hub; empty: no hub, everything else works the same.
	HubKubeconfig string
	// ClusterName is this cluster's name on the hub, and its namespace there.
	ClusterName string
	// HeartbeatInterval is how often the Lease on the hub is renewed.
	HeartbeatInterval time.Duration
	// ProtectionLogPath is the folder of protection.log; empty: there is none, and refusals are in our own log alone.
	ProtectionLogPath string
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.HubKubeconfig, "hub-kubeconfig", o.HubKubeconfig, "kubeconfig file of the hub; empty: work without a hub")
	fs.StringVar(&o.ClusterName, "cluster-name", o.ClusterName, "name of this cluster on the hub; needed with --hub-kubeconfig")
	fs.StringVar(&o.ProtectionLogPath, "protection-log-path", o.ProtectionLogPath, "folder of protection.log, which has a line for each deletion that protection refused; empty: no such file")
	fs.DurationVar(&o.HeartbeatInterval, "hub-heartbeat-interval", 10*time.Second, "how often the Lease on the hub is renewed; at least 1s")
}

func (o *Options) validate() error {
	if o.HubKubeconfig != "" && o.ClusterName == "" {
		return errors.New("--hub-kubeconfig needs --cluster-name, the name of this cluster on the hub")
	}
	return nil
}
