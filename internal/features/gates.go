// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"k8s.io/component-base/featuregate"
)

// The names of the gates. The table below says what each does.
const (
	CloneSetEventHandlerOptimization          featuregate.Feature = "CloneSetEventHandlerOptimization"
	CloneSetPartitionRollback                 featuregate.Feature = "CloneSetPartitionRollback"
	CloneSetShortHash                         featuregate.Feature = "CloneSetShortHash"
	DaemonSetPruneIneligibleNodes             featuregate.Feature = "DaemonSetPruneIneligibleNodes"
	DaemonWatchingPod                         featuregate.Feature = "DaemonWatchingPod"
	DefaultHostNetworkHostPortsInPodTemplates featuregate.Feature = "DefaultHostNetworkHostPortsInPodTemplates"
	DeletionProtectionForCRDCascadingGate     featuregate.Feature = "DeletionProtectionForCRDCascadingGate"
	EnableExternalCerts                       featuregate.Feature = "EnableExternalCerts"
	EnablePodProbeMarkerOnServerless          featuregate.Feature = "EnablePodProbeMarkerOnServerless"
	EnableSortSidecarContainerByName          featuregate.Feature = "EnableSortSidecarContainerByName"
	EnhancedLivenessProbe                     featuregate.Feature = "EnhancedLivenessProbe"
	ForceDeleteTimeoutExpectationGate         featuregate.Feature = "ForceDeleteTimeoutExpectationGate"
	ImagePullJobGate                          featuregate.Feature = "ImagePullJobGate"
	InPlacePodVerticalScaling                 featuregate.Feature = "InPlacePodVerticalScaling"
	InPlaceUpdateEnvFromMetadata              featuregate.Feature = "InPlaceUpdateEnvFromMetadata"
	InPlaceWorkloadVerticalScaling            featuregate.Feature = "InPlaceWorkloadVerticalScaling"
	KruiseDaemon                              featuregate.Feature = "KruiseDaemon"
	KruisePodReadinessGate                    featuregate.Feature = "KruisePodReadinessGate"
	PodIndexLabel                             featuregate.Feature = "PodIndexLabel"
	PodProbeMarkerGate                        featuregate.Feature = "PodProbeMarkerGate"
	PodUnavailableBudgetDeleteGate            featuregate.Feature = "PodUnavailableBudgetDeleteGate"
	PodUnavailableBudgetUpdateGate            featuregate.Feature = "PodUnavailableBudgetUpdateGate"
	PodWebhook                                featuregate.Feature = "PodWebhook"
	PreDownloadImageForDaemonSetUpdate        featuregate.Feature = "PreDownloadImageForDaemonSetUpdate"
	PreDownloadImageForInPlaceUpdate          featuregate.Feature = "PreDownloadImageForInPlaceUpdate"
	PreparingUpdateAsUpdate                   featuregate.Feature = "PreparingUpdateAsUpdate"
	RecreatePodWhenChangeVCTInCloneSetGate    featuregate.Feature = "RecreatePodWhenChangeVCTInCloneSetGate"
	ResourceDistributionGate                  featuregate.Feature = "ResourceDistributionGate"
	ResourcesDeletionProtection               featuregate.Feature = "ResourcesDeletionProtection"
	SidecarSetPatchPodMetadataDefaultsAllowed featuregate.Feature = "SidecarSetPatchPodMetadataDefaultsAllowed"
	SidecarTerminator                         featuregate.Feature = "SidecarTerminator"
	StatefulSetAutoDeletePVC                  featuregate.Feature = "StatefulSetAutoDeletePVC"
	StatefulSetAutoResizePVCGate              featuregate.Feature = "StatefulSetAutoResizePVCGate"
	StatefulSetStartOrdinal                   featuregate.Feature = "StatefulSetStartOrdinal"
	TemplateNoDefaults                        featuregate.Feature = "TemplateNoDefaults"
	WorkloadSpread                            featuregate.Feature = "WorkloadSpread"
)

// Info is what there is to say of a gate.
type Info struct {
	Name    featuregate.Feature
	Default bool
	// Stage is Alpha or Beta: AllAlpha and AllBeta set the gates of a stage that are not set by name.
	Stage Stage
	// Readers are the packages that ask for it, in order. None: it has no effect yet.
	Readers []string
	// Effect is what it changes when it is on; of a gate without readers, what it is meant to.
	Effect string
}

// Stage tells how old a gate is.
type Stage string

// The stages.
const (
	Alpha Stage = "Alpha"
	Beta  Stage = "Beta"
)

const (
	on, off = true, false

	nodeSetup, spokeSetup = "nodeagent/setup", "spoke/setup"
	admission             = "internal/kindadmission" // of hub and spoke
)

// Gates returns all gates, by name. docs/feature-gates.md shows them; tests keep the readers and the page true.
func Gates() []Info {
	return []Info{
		{CloneSetEventHandlerOptimization, off, Alpha, nil, "fewer passes of CloneSets for events of pods"},
		{CloneSetPartitionRollback, off, Alpha, from(spokeSetup), "raising the partition of a CloneSet moves updated pods back to the current revision"},
		{CloneSetShortHash, off, Alpha, from(spokeSetup), "the revision label of CloneSets' pods is the short hash instead of the revision's name"},
		{DaemonSetPruneIneligibleNodes, off, Alpha, nil, "pods on nodes that a DaemonSet no longer wants do not count as unavailable"},
		{DaemonWatchingPod, on, Beta, from(nodeSetup), "the node agent watches the pods of its node and reports their containers"},
		{DefaultHostNetworkHostPortsInPodTemplates, off, Alpha, from(admission), "host ports of templates with `hostNetwork` are filled in at admission"},
		{DeletionProtectionForCRDCascadingGate, off, Alpha, from("spoke/deletionprotection"), "deletion protection `Cascading` of CRDs looks for custom resources"},
		{EnableExternalCerts, off, Alpha, from("internal/webhookserver"), "certificates of the webhooks come from somebody else, and nothing is patched"},
		{EnablePodProbeMarkerOnServerless, off, Alpha, from(spokeSetup), "PodProbeMarkers work for pods without a node agent"},
		{EnableSortSidecarContainerByName, off, Alpha, nil, "injected sidecars are in order of their names"},
		{EnhancedLivenessProbe, off, Alpha, nil, "liveness probes of pods that ask for it run in the node agent, with a limit on restarts"},
		{ForceDeleteTimeoutExpectationGate, off, Alpha, nil, "scaling does not wait for events that do not come"},
		{ImagePullJobGate, off, Alpha, from(spokeSetup), "ImagePullJobs and ImageListPullJobs are admitted and acted on"},
		{InPlacePodVerticalScaling, off, Alpha, from(spokeSetup), "PodUnavailableBudgets let pods be resized in place, unless they list RESIZE; else a resize is an update to them"},
		{InPlaceUpdateEnvFromMetadata, on, Beta, from(nodeSetup, spokeSetup), "a label or annotation that a container's env refers to may change in place, with a restart"},
		{InPlaceWorkloadVerticalScaling, off, Alpha, from(spokeSetup), "changed cpu and memory of a template are an update in place, from Kubernetes 1.32 on"},
		{KruiseDaemon, on, Beta, from(nodeSetup, spokeSetup), "there are node agents: NodeImages, which they follow, are admitted and made for every node, and ContainerRecreateRequests are admitted"},
		{KruisePodReadinessGate, off, Alpha, from("spoke/podreadiness"), "every pod gets readiness gate `KruisePodReady`, not only those of our workloads"},
		{PodIndexLabel, on, Beta, nil, "pods of StatefulSets bear their index as a label"},
		{PodProbeMarkerGate, on, Beta, from(nodeSetup, spokeSetup), "PodProbeMarkers work: they are admitted, and the node agents run their probes"},
		{PodUnavailableBudgetDeleteGate, on, Beta, from(spokeSetup), "PodUnavailableBudgets are admitted, and guard pods against deletion and eviction"},
		{PodUnavailableBudgetUpdateGate, off, Alpha, from(spokeSetup), "PodUnavailableBudgets are admitted, and guard pods against updates; CloneSets ask them before they update a pod"},
		{PodWebhook, on, Beta, from(spokeSetup), "pods pass our webhooks: those of our workloads get readiness gate `KruisePodReady`"},
		{PreDownloadImageForDaemonSetUpdate, off, Alpha, nil, "images of a DaemonSet's update are pulled beforehand"},
		{PreDownloadImageForInPlaceUpdate, off, Alpha, from(spokeSetup), "ImagePullJobs are made for the images of an update in place, beforehand"},
		{PreparingUpdateAsUpdate, off, Alpha, from(spokeSetup), "a PreparingUpdate pod of a CloneSet counts as updated for scaling"},
		{RecreatePodWhenChangeVCTInCloneSetGate, off, Alpha, from(spokeSetup), "changed claim templates of a CloneSet forbid the update in place"},
		{ResourceDistributionGate, off, Beta, from(spokeSetup), "ResourceDistributions are admitted and acted on; the right for that is [granted by hand](resource-distribution.md#switch-it-on)"},
		{ResourcesDeletionProtection, off, Beta, from(spokeSetup), "label `policy.kruise.io/delete-protection` holds deletions back"},
		{SidecarSetPatchPodMetadataDefaultsAllowed, off, Alpha, from(admission), "`patchPodMetadata` of SidecarSets is accepted where no white list speaks of it"},
		{SidecarTerminator, off, Alpha, nil, "sidecars of a job end when its main containers have"},
		{StatefulSetAutoDeletePVC, on, Beta, from(admission), "`persistentVolumeClaimRetentionPolicy` of StatefulSets is filled in at admission"},
		{StatefulSetAutoResizePVCGate, off, Alpha, from(admission), "`volumeClaimUpdateStrategy` of StatefulSets is filled in and validated at admission"},
		{StatefulSetStartOrdinal, off, Alpha, nil, "`ordinals.start` of StatefulSets"},
		{TemplateNoDefaults, off, Alpha, from(admission), "pod templates are not filled in at admission"},
		{WorkloadSpread, on, Beta, from(spokeSetup), "WorkloadSpreads are admitted"},
	}
}

func from(readers ...string) []string { return readers }
