// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// UnsupportedInBroadcastJob names values that mean nothing and that OpenKruise lets in: to be warned of.
func UnsupportedInBroadcastJob(obj *v1beta1.BroadcastJob) []string {
	return unsupportedInJob(field.NewPath("spec"), &obj.Spec)
}

// UnsupportedInAdvancedCronJob is UnsupportedInBroadcastJob for the jobs that a cron job makes.
func UnsupportedInAdvancedCronJob(obj *v1beta1.AdvancedCronJob) []string {
	if obj.Spec.Template.BroadcastJobTemplate == nil {
		return nil
	}
	return unsupportedInJob(field.NewPath("spec", "template", "broadcastJobTemplate", "spec"), &obj.Spec.Template.BroadcastJobTemplate.Spec)
}

func unsupportedInJob(path *field.Path, spec *v1beta1.BroadcastJobSpec) []string {
	return slices.Concat(
		unsupported(path.Child("completionPolicy", "type"), spec.CompletionPolicy.Type, v1beta1.BroadcastJobCompletesAlways, v1beta1.BroadcastJobCompletesNever),
		unsupported(path.Child("failurePolicy", "type"), spec.FailurePolicy.Type,
			v1beta1.BroadcastJobFailFast, v1beta1.BroadcastJobFailureContinues, v1beta1.BroadcastJobFailurePauses),
	)
}

// UnsupportedInSidecarSet is UnsupportedInBroadcastJob for a SidecarSet.
func UnsupportedInSidecarSet(obj *v1beta1.SidecarSet) []string {
	return unsupportedInSidecars(obj.Spec.InitContainers, obj.Spec.Containers)
}

// UnsupportedInOldSidecarSet is UnsupportedInSidecarSet for an object sent as v1alpha1.
func UnsupportedInOldSidecarSet(obj *v1alpha1.SidecarSet) []string {
	return unsupportedInSidecars(obj.Spec.InitContainers, obj.Spec.Containers)
}

func unsupportedInSidecars(initContainers, containers []v1beta1.SidecarContainer) (out []string) {
	for _, f := range []named[[]v1beta1.SidecarContainer]{{"initContainers", initContainers}, {"containers", containers}} {
		for i := range f.value {
			path := field.NewPath("spec", f.name).Index(i)
			out = append(out, unsupported(path.Child("upgradeStrategy", "upgradeType"), f.value[i].UpgradeStrategy.UpgradeType,
				v1beta1.SidecarContainerColdUpgrade, v1beta1.SidecarContainerHotUpgrade)...)
			if policy := f.value[i].ShareVolumeDevicePolicy; policy != nil {
				out = append(out, unsupported(path.Child("shareVolumeDevicePolicy", "type"), policy.Type,
					v1beta1.ShareVolumePolicyEnabled, v1beta1.ShareVolumePolicyDisabled)...)
			}
		}
	}
	return out
}

// UnsupportedInBatchRelease is UnsupportedInBroadcastJob for a BatchRelease.
func UnsupportedInBatchRelease(obj *rolloutsv1beta1.BatchRelease) []string {
	return unsupported(field.NewPath("spec", "releasePlan", "rollingStyle"), obj.Spec.ReleasePlan.RollingStyle,
		rolloutsv1beta1.PartitionRollingStyle, rolloutsv1beta1.CanaryRollingStyle, rolloutsv1beta1.BlueGreenRollingStyle)
}

// unsupported complains of a value that is set and none of those listed.
func unsupported[T ~string](path *field.Path, value T, values ...T) []string {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return []string{field.NotSupported(path, value, values).Error()}
}
