// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	"k8s.io/component-base/featuregate"
)

// wanted says in one formula a gate how it must be.
var wanted = map[featuregate.Feature]func(is func(featuregate.Feature) bool) bool{
	PodWebhook:                                func(is func(featuregate.Feature) bool) bool { return is(PodWebhook) },
	KruiseDaemon:                              func(is func(featuregate.Feature) bool) bool { return is(KruiseDaemon) },
	ResourcesDeletionProtection:               func(is func(featuregate.Feature) bool) bool { return is(ResourcesDeletionProtection) },
	KruisePodReadinessGate:                    both(PodWebhook, KruisePodReadinessGate),
	PodUnavailableBudgetDeleteGate:            both(PodWebhook, PodUnavailableBudgetDeleteGate),
	PodUnavailableBudgetUpdateGate:            both(PodWebhook, PodUnavailableBudgetUpdateGate),
	WorkloadSpread:                            both(PodWebhook, WorkloadSpread),
	SidecarSetPatchPodMetadataDefaultsAllowed: both(PodWebhook, SidecarSetPatchPodMetadataDefaultsAllowed),
	EnablePodProbeMarkerOnServerless:          both(PodWebhook, EnablePodProbeMarkerOnServerless),
	PreDownloadImageForInPlaceUpdate:          both(KruiseDaemon, PreDownloadImageForInPlaceUpdate),
	PreDownloadImageForDaemonSetUpdate:        both(KruiseDaemon, PreDownloadImageForDaemonSetUpdate),
	DaemonWatchingPod:                         both(KruiseDaemon, DaemonWatchingPod),
	InPlaceUpdateEnvFromMetadata:              both(KruiseDaemon, InPlaceUpdateEnvFromMetadata),
	PodProbeMarkerGate:                        both(KruiseDaemon, PodProbeMarkerGate),
	SidecarTerminator:                         both(KruiseDaemon, SidecarTerminator),
	DeletionProtectionForCRDCascadingGate:     both(ResourcesDeletionProtection, DeletionProtectionForCRDCascadingGate),
	EnhancedLivenessProbe: func(is func(featuregate.Feature) bool) bool {
		return is(PodWebhook) && is(KruiseDaemon) && is(EnhancedLivenessProbe)
	},
	ImagePullJobGate: func(is func(featuregate.Feature) bool) bool {
		return is(KruiseDaemon) && (is(ImagePullJobGate) || is(PreDownloadImageForInPlaceUpdate) || is(PreDownloadImageForDaemonSetUpdate))
	},
}

func both(a, b featuregate.Feature) func(func(featuregate.Feature) bool) bool {
	return func(is func(featuregate.Feature) bool) bool { return is(a) && is(b) }
}

// TestDependents goes through everything that can be asked of the gates that have to do with each other.
func TestDependents(t *testing.T) {
	var names []featuregate.Feature
	place := map[featuregate.Feature]int{}
	for _, g := range Gates() {
		if wanted[g.Name] != nil {
			place[g.Name] = len(names)
			names = append(names, g.Name)
		}
	}
	if len(names) != len(wanted) {
		t.Fatalf("%d gates of %d are known", len(names), len(wanted))
	}
	for asked := range 1 << len(names) {
		is := func(gate featuregate.Feature) bool {
			at, ok := place[gate]
			return ok && asked>>at&1 == 1
		}
		now := asked
		for _, c := range Dependents(is) {
			bit, known := place[c.Gate]
			if !known || c.Because == "" {
				t.Fatalf("asked %b: %+v", asked, c)
			}
			now &^= 1 << bit
			if c.On {
				now |= 1 << bit
			}
		}
		for i, name := range names {
			if got, want := now>>i&1 == 1, wanted[name](is); got != want {
				t.Fatalf("%s is %v, must be %v; asked %b of %v", name, got, want, asked, names)
			}
		}
	}
}
