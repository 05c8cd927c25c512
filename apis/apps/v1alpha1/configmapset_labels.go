// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations, labels and finalizers of ConfigMapSets and of their pods. <token> is the object's name, cut
// by ConfigMapSetToken.
const (
	// ConfigMapSetAnnotationPrefix, <token> and one of the suffixes below make the annotations of pods
	// that say which revision of a set a pod has.
	ConfigMapSetAnnotationPrefix = "apps.kruise.io/configmapset."
	// ConfigMapSetUpdateRevisionSuffix: the hash that the pod should have. Pod webhook and controller
	// write, the reload sidecar reads.
	ConfigMapSetUpdateRevisionSuffix = ".updateRevision"
	// ConfigMapSetCurrentRevisionSuffix: the hash in effect. Pod webhook and controller write and read.
	ConfigMapSetCurrentRevisionSuffix = ".currentRevision"
	// ConfigMapSetUpdateRevisionTimestampSuffix: RFC 3339 time, in UTC, at which the hash that the pod
	// should have was changed. Written as that one, people read.
	ConfigMapSetUpdateRevisionTimestampSuffix = ".updateRevisionTimestamp"
	// ConfigMapSetCurrentRevisionTimestampSuffix: the same for the hash in effect.
	ConfigMapSetCurrentRevisionTimestampSuffix = ".currentRevisionTimestamp"
	// ConfigMapSetUpdateCustomVersionSuffix: the customVersion of the hash that the pod should have; absent
	// when empty. Written as that one, people read.
	ConfigMapSetUpdateCustomVersionSuffix = ".updateCustomVersion"
	// ConfigMapSetCurrentCustomVersionSuffix: the same for the hash in effect.
	ConfigMapSetCurrentCustomVersionSuffix = ".currentCustomVersion"
	// ConfigMapSetLoadedRevisionSuffix: the hash of the files in the pod. The node agent writes, the
	// controller reads.
	ConfigMapSetLoadedRevisionSuffix = ".loadedRevision"
	// ConfigMapSetPostHookSuffix after ConfigMapSetPostHookPrefix and <token>: effectPolicy.postHook as
	// JSON. The controller writes, the reload sidecar reads.
	ConfigMapSetPostHookSuffix = "-post-hook-config"
	// ConfigMapSetPostHookPrefix: see ConfigMapSetPostHookSuffix.
	ConfigMapSetPostHookPrefix = "apps.kruise.io/configmapset-"

	// ConfigMapSetEnabledAnnotation is on pods. Users write "false" to keep a pod out; the pod webhook
	// writes "true" on pods it gave the volumes to; the controller handles those alone.
	ConfigMapSetEnabledAnnotation = "apps.kruise.io/configmapset-enabled"
	// ConfigMapSetRequestLabel is on ContainerRecreateRequests: "true" on those of the ConfigMapSet
	// controller, which writes and selects by it.
	ConfigMapSetRequestLabel = "apps.kruise.io/configmapset-crr"
	// ConfigMapSetStartedAtAnnotationPrefix and a container's name is on ContainerRecreateRequests: when
	// the old instance had started. The controller writes and reads.
	ConfigMapSetStartedAtAnnotationPrefix = "configmapset.kruise.io/started-at-"
	// ConfigMapSetLabel is on the ConfigMap that holds the revisions: <token>. The controller writes and
	// selects by it.
	ConfigMapSetLabel = "apps.kruise.io/configmapset"
	// ConfigMapSetForceDeleteAnnotation is on ConfigMapSets: "true" deletes the set although pods use it.
	// Users write, the controller reads.
	ConfigMapSetForceDeleteAnnotation = "apps.kruise.io/configmapset-force-delete"
	// ConfigMapSetFinalizer holds a set while pods use it. The controller writes and removes it.
	ConfigMapSetFinalizer = "finalizer.configmapset.kruise.io"
)

// Condition types of a ConfigMapSet. The controller writes.
const (
	// ConfigMapSetProgressing: pods are on their way to the update revision.
	ConfigMapSetProgressing = "Progressing"
	// ConfigMapSetDegraded: something keeps pods from it; the reason is one of those below.
	ConfigMapSetDegraded = "Degraded"
	// ConfigMapSetUninjectedPods: matching pods lack the volumes; the message counts them.
	ConfigMapSetUninjectedPods = "UninjectedPods"
)

// Reasons of condition Degraded and of events.
const (
	// ConfigMapSetSidecarUnresolved: the reload sidecar could not be found or built.
	ConfigMapSetSidecarUnresolved = "SidecarUnresolved"
	// ConfigMapSetTooLarge: the revisions have no room in one ConfigMap.
	ConfigMapSetTooLarge = "RMCTooLarge"
	// ConfigMapSetHistoryFull: every revision kept is in use.
	ConfigMapSetHistoryFull = "HistoryFull"
	// ConfigMapSetEffectFailed: new content could not be brought into effect in a pod.
	ConfigMapSetEffectFailed = "EffectFailed"
	// ConfigMapSetRevisionCorrupted: a revision in the ConfigMap was changed by hand.
	ConfigMapSetRevisionCorrupted = "RevisionCorrupted"
)

// The contract with the reload sidecar.
const (
	// ConfigMapSetRevisionsKey is the key of the ConfigMap that holds the revisions, oldest first, as JSON,
	// and the name of the file in the sidecar.
	ConfigMapSetRevisionsKey = "revisions"
	// ConfigMapSetSidecarKey is the key of a ConfigMap of type custom that holds the container.
	ConfigMapSetSidecarKey = "reload-sidecar"
	// ConfigMapSetConfigPathEnv is the folder of the file revisions. The pod webhook writes.
	ConfigMapSetConfigPathEnv = "CMS_CONFIG_PATH"
	// ConfigMapSetSharePathEnv is the folder to unpack into. The pod webhook writes.
	ConfigMapSetSharePathEnv = "CMS_SHARE_PATH"
	// ConfigMapSetConfigPathsEnv lists the folders of all sets of one sidecar, joined by commas. The pod
	// webhook writes.
	ConfigMapSetConfigPathsEnv = "CMS_CONFIG_PATHS"
	// ConfigMapSetSharePathsEnv lists the folders to unpack into, in the same order.
	ConfigMapSetSharePathsEnv = "CMS_SHARE_PATHS"
	// ConfigMapSetConfigRoot and the set's name is the folder of the file revisions.
	ConfigMapSetConfigRoot = "/etc/cms"
	// ConfigMapSetShareRoot and the set's name is the folder to unpack into.
	ConfigMapSetShareRoot = "/etc/config"
	// ConfigMapSetTargetRoot is the folder of the files below.
	ConfigMapSetTargetRoot = "/etc/cms_config"
	// ConfigMapSetTargetFile holds the hash that the pod should have.
	ConfigMapSetTargetFile = "target_revision"
	// ConfigMapSetPostHookFile holds effectPolicy.postHook as JSON.
	ConfigMapSetPostHookFile = "post_hook_config"
	// ConfigMapSetCurrentFile, in the folder to unpack into, holds the hash unpacked last. The sidecar
	// writes, its probe and the node agent read.
	ConfigMapSetCurrentFile = ".current_revision"
	// ConfigMapSetPostHookSuccessFilePrefix and a hash, in the same folder, is there once every hook of
	// that hash succeeded. The sidecar writes, its probe reads.
	ConfigMapSetPostHookSuccessFilePrefix = ".post_hook_success_"
)
