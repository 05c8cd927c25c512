// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"k8s.io/component-base/featuregate"
)

// Change is a gate that is not as it was asked for, since another one demands otherwise.
type Change struct {
	Gate featuregate.Feature
	On   bool
	// Because names the other gate and how it is.
	Because string
}

// dependency sets gates where one of some causes is on, or off.
type dependency struct {
	causes []featuregate.Feature
	are    bool
	set    bool
	gates  []featuregate.Feature
}

// dependencies hold in this order: what one sets, the next sees.
func dependencies() []dependency {
	return []dependency{
		{only(PodWebhook), off, off, []featuregate.Feature{
			KruisePodReadinessGate, PodUnavailableBudgetDeleteGate, PodUnavailableBudgetUpdateGate, WorkloadSpread,
			SidecarSetPatchPodMetadataDefaultsAllowed, EnhancedLivenessProbe, EnablePodProbeMarkerOnServerless,
		}},
		{only(KruiseDaemon), off, off, []featuregate.Feature{
			PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate, DaemonWatchingPod, InPlaceUpdateEnvFromMetadata,
			PodProbeMarkerGate, SidecarTerminator, ImagePullJobGate, EnhancedLivenessProbe,
		}},
		{[]featuregate.Feature{PreDownloadImageForInPlaceUpdate, PreDownloadImageForDaemonSetUpdate}, on, on, only(ImagePullJobGate)},
		{only(ResourcesDeletionProtection), off, off, only(DeletionProtectionForCRDCascadingGate)},
	}
}

func only(gate featuregate.Feature) []featuregate.Feature { return []featuregate.Feature{gate} }

// Dependents returns what must be changed where the gates are as asked tells: without the pods' webhook
// nothing of what it does, without node agents nothing of what they do, no pulling beforehand without
// ImagePullJobs, and no part of deletion protection without the whole.
func Dependents(asked func(featuregate.Feature) bool) []Change {
	var changes []Change
	changed := map[featuregate.Feature]bool{}
	is := func(gate featuregate.Feature) bool {
		if now, ok := changed[gate]; ok {
			return now
		}
		return asked(gate)
	}
	for _, d := range dependencies() {
		for _, cause := range d.causes {
			if is(cause) != d.are {
				continue
			}
			for _, gate := range d.gates {
				if is(gate) != d.set {
					changed[gate] = d.set
					changes = append(changes, Change{Gate: gate, On: d.set, Because: string(cause) + " is " + word(d.are)})
				}
			}
		}
	}
	return changes
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
