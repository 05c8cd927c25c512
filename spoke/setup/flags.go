// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"github.com/spf13/pflag"

	"github.com/flotilla-sh/flotilla/internal/bootstrap"
)

// workerFlags are the kinds of which a flag says how many are worked on at once.
var workerFlags = []struct {
	flag, kind string
	workers    int
}{
	{"cloneset-workers", "CloneSet.apps.kruise.io", 3},
	{"crr-workers", "ContainerRecreateRequest.apps.kruise.io", 10},
	{"imagepulljob-workers", "ImagePullJob.apps.kruise.io", 3},
	{"nodeimage-workers", "NodeImage.apps.kruise.io", 3},
	{"nodepodprobe-workers", "NodePodProbe.apps.kruise.io", 3},
	{"podprobemarker-workers", "PodProbeMarker.apps.kruise.io", 3},
	{"podunavailablebudget-workers", "PodUnavailableBudget.policy.kruise.io", 3},
	{"resourcedistribution-workers", "ResourceDistribution.apps.kruise.io", 3},
	{"uniteddeployment-workers", "UnitedDeployment.apps.kruise.io", 3},
}

// withoutEffect are flags of OpenKruise's manager that change nothing here, and why. A Deployment that has them can be
// taken over as it is.
var withoutEffect = []struct {
	why   string
	flags []string
}{
	{"templates with privileged containers are let through, as the API server does", []string{"allow-privileged"}},
	{"it is always a Lease", []string{"leader-election-resource-lock"}},
	{"webhooks wait for their certificate as long as it takes", []string{"webhook-initialize-timeout"}},
	{"controllers wait until their own writes show in what they read", []string{"expectation-timeout"}},
	{"what is changed is copied first", []string{"disable-no-deepcopy"}},
	{"failures are tried again after 5 ms to 1000 s", []string{"rate-limiter-base-delay", "rate-limiter-max-delay", "rate-limiter-qps", "rate-limiter-bucket-size"}},
	{"the spoke does not run this kind yet", []string{
		"assign-bcj-pods-by-scheduler", "assign-pods-by-scheduler", "ws-enabled-versioned-status", "advancedcronjob-workers", "broadcastjob-workers",
		"daemonset-workers", "persistentpodstate-workers", "sidecarset-workers", "sidecarterminator-workers",
		"statefulset-workers", "workloadspread-workers",
	}},
}

// addWorkerFlags binds a flag for each of the kinds.
func (o *Options) addWorkerFlags(fs *pflag.FlagSet) {
	o.workers = map[string]*int{}
	for _, w := range workerFlags {
		o.workers[w.flag] = fs.Int(w.flag, w.workers, "how many objects of "+w.kind+" are worked on at once")
	}
}

// Concurrency is how many objects of a kind are worked on at once, by kind and group, as bootstrap.Options takes it.
func (o *Options) Concurrency() map[string]int {
	out := map[string]int{}
	for _, w := range workerFlags {
		if n := o.workers[w.flag]; n != nil {
			out[w.kind] = *n
		}
	}
	return out
}

// addFlagsWithoutEffect takes what OpenKruise's manager takes.
func addFlagsWithoutEffect(fs *pflag.FlagSet) {
	for _, f := range withoutEffect {
		bootstrap.AddFlagsWithoutEffect(fs, f.why, f.flags...)
	}
}
