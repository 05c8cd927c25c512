// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	// NodeImageDelay is how long a node must have been ready to get a NodeImage.
	NodeImageDelay time.Duration
	// PullTTLSeconds is added to how long nodes remember what a job of type Always had them pull.
	PullTTLSeconds int32
	// ExcludePreparingDelete leaves pods that are PreparingDelete out of the count when CloneSets scale, as a label of
	// theirs does for one.
	ExcludePreparingDelete bool

	workers map[string]*int
}

// mostPullTTL is the greatest PullTTLSeconds, 31 days.
const mostPullTTL = 2678400

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.HubKubeconfig, "hub-kubeconfig", o.HubKubeconfig, "kubeconfig file of the hub; empty: work without a hub")
	fs.StringVar(&o.ClusterName, "cluster-name", o.ClusterName, "name of this cluster on the hub; needed with --hub-kubeconfig")
	fs.StringVar(&o.ProtectionLogPath, "protection-log-path", o.ProtectionLogPath, "folder of protection.log, which has a line for each deletion that protection, and each disruption that a PodUnavailableBudget refused; empty: no such file")
	fs.DurationVar(&o.HeartbeatInterval, "hub-heartbeat-interval", 10*time.Second, "how often the Lease on the hub is renewed; at least 1s")
	fs.DurationVar(&o.NodeImageDelay, "nodeimage-creation-delay", 30*time.Second, "how long a node must have been ready to get a NodeImage")
	fs.Int32Var(&o.PullTTLSeconds, "default-ttlseconds-for-always-nodeimage", 300, "seconds that are added to how long nodes remember what an ImagePullJob of type Always had them pull; 0 to 2678400")
	fs.BoolVar(&o.ExcludePreparingDelete, "cloneset-scaling-exclude-preparing-delete", o.ExcludePreparingDelete, "leave pods that are PreparingDelete out of the count when CloneSets scale")
	o.addWorkerFlags(fs)
	addFlagsWithoutEffect(fs)
}

func (o *Options) validate() error {
	if o.HubKubeconfig != "" && o.ClusterName == "" {
		return errors.New("--hub-kubeconfig needs --cluster-name, the name of this cluster on the hub")
	}
	for _, flag := range slices.Sorted(maps.Keys(o.workers)) {
		if n := *o.workers[flag]; n < 1 {
			return fmt.Errorf("--%s is %d, must be at least 1", flag, n)
		}
	}
	if o.PullTTLSeconds < 0 || o.PullTTLSeconds > mostPullTTL {
		return fmt.Errorf("--default-ttlseconds-for-always-nodeimage is %d, must be 0 to %d", o.PullTTLSeconds, mostPullTTL)
	}
	return nil
}
