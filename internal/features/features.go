// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

const (
	// PodWebhook (default on): pods are mutated at admission. Read by spoke/setup.
	PodWebhook featuregate.Feature = "PodWebhook"
	// KruisePodReadinessGate (default off): every pod gets readiness gate KruisePodReady, not only
	// those of our workloads. Read by spoke/podreadiness.
	KruisePodReadinessGate featuregate.Feature = "KruisePodReadinessGate"
	// CloneSetShortHash (default off): the revision label of pods is the short hash instead of the
	// revision's name. Read by spoke/cloneset.
	CloneSetShortHash featuregate.Feature = "CloneSetShortHash"
	// CloneSetPartitionRollback (default off): raising the partition moves updated pods back to the
	// current revision. Read by spoke/cloneset.
	CloneSetPartitionRollback featuregate.Feature = "CloneSetPartitionRollback"
	// PreparingUpdateAsUpdate (default off): a PreparingUpdate pod counts as updated for scaling.
	// Read by spoke/cloneset.
	PreparingUpdateAsUpdate featuregate.Feature = "PreparingUpdateAsUpdate"
	// InPlaceUpdateEnvFromMetadata (default off): a label or annotation that a container's env refers
	// to may change in place, with a restart. OpenKruise has it on; here it stays off until the node
	// agent restarts containers, and such a change recreates the pod. Read by spoke/cloneset.
	InPlaceUpdateEnvFromMetadata featuregate.Feature = "InPlaceUpdateEnvFromMetadata"
	// RecreatePodWhenChangeVCTInCloneSetGate (default off): a change of claim templates forbids the
	// in-place update. Read by spoke/cloneset.
	RecreatePodWhenChangeVCTInCloneSetGate featuregate.Feature = "RecreatePodWhenChangeVCTInCloneSetGate"
	// DaemonWatchingPod (default on): the agent of a node watches the pods of the node and reports their
	// containers. Read by nodeagent/setup.
	DaemonWatchingPod featuregate.Feature = "DaemonWatchingPod"
	// TemplateNoDefaults (default off): pod templates are not defaulted at admission. Read by the
	// webhooks.
	TemplateNoDefaults featuregate.Feature = "TemplateNoDefaults"
	// DefaultHostNetworkHostPortsInPodTemplates (default off): with hostNetwork, host ports of a template are
	// filled at admission. Read by the webhooks.
	DefaultHostNetworkHostPortsInPodTemplates featuregate.Feature = "DefaultHostNetworkHostPortsInPodTemplates"
	// SidecarSetPatchPodMetadataDefaultsAllowed (default off): SidecarSets may set annotations of pods of
	// which no white list speaks. Read by spoke/setup.
	SidecarSetPatchPodMetadataDefaultsAllowed featuregate.Feature = "SidecarSetPatchPodMetadataDefaultsAllowed"
	// StatefulSetAutoDeletePVC (default on): persistentVolumeClaimRetentionPolicy of Advanced StatefulSets is
	// filled at admission. Read by spoke/setup.
	StatefulSetAutoDeletePVC featuregate.Feature = "StatefulSetAutoDeletePVC"
	// StatefulSetAutoResizePVCGate (default off): volumeClaimUpdateStrategy of Advanced StatefulSets is
	// filled and looked at at admission. Read by spoke/setup.
	StatefulSetAutoResizePVCGate featuregate.Feature = "StatefulSetAutoResizePVCGate"
	// ResourcesDeletionProtection (default off): label policy.kruise.io/delete-protection holds. Known so
	// that a spoke that is given it starts; nothing reads it yet.
	ResourcesDeletionProtection featuregate.Feature = "ResourcesDeletionProtection"
)

// Gate holds the gates of this process; flag --feature-gates sets it.
var Gate featuregate.MutableFeatureGate = newGate()

// Enabled tells whether a gate is on.
func Enabled(f featuregate.Feature) bool { return Gate.Enabled(f) }

func newGate() featuregate.MutableFeatureGate {
	g := featuregate.NewFeatureGate()
	on := featuregate.FeatureSpec{Default: true, PreRelease: featuregate.Beta}
	off := featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
	runtime.Must(g.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		PodWebhook:                                on,
		KruisePodReadinessGate:                    off,
		CloneSetShortHash:                         off,
		CloneSetPartitionRollback:                 off,
		PreparingUpdateAsUpdate:                   off,
		InPlaceUpdateEnvFromMetadata:              off,
		DaemonWatchingPod:                         on,
		RecreatePodWhenChangeVCTInCloneSetGate:    off,
		TemplateNoDefaults:                        off,
		ResourcesDeletionProtection:               off,
		DefaultHostNetworkHostPortsInPodTemplates: off,
		SidecarSetPatchPodMetadataDefaultsAllowed: off,
		StatefulSetAutoDeletePVC:                  on,
		StatefulSetAutoResizePVCGate:              off,
	}))
	return g
}
