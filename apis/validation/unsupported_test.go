// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// TestUnsupportedValues: what means nothing is named with what does, and nothing is said of what is not set.
func TestUnsupportedValues(t *testing.T) {
	policies := v1beta1.BroadcastJobSpec{
		CompletionPolicy: v1beta1.BroadcastJobCompletionPolicy{Type: "Sometimes"}, FailurePolicy: v1beta1.BroadcastJobFailurePolicy{Type: "failfast"},
	}
	sound := v1beta1.BroadcastJobSpec{CompletionPolicy: v1beta1.BroadcastJobCompletionPolicy{Type: "Never"}, FailurePolicy: v1beta1.BroadcastJobFailurePolicy{Type: "Pause"}}
	sidecars := []v1beta1.SidecarContainer{{
		UpgradeStrategy:         v1beta1.SidecarContainerUpgradeStrategy{UpgradeType: "Warm"},
		ShareVolumeDevicePolicy: &v1beta1.ShareVolumePolicy{Type: "yes"},
	}}
	cron := func(job *v1beta1.BroadcastJobTemplateSpec) []string {
		return UnsupportedInAdvancedCronJob(&v1beta1.AdvancedCronJob{Spec: v1beta1.AdvancedCronJobSpec{Template: v1beta1.CronJobTemplate{BroadcastJobTemplate: job}}})
	}
	release := func(style rolloutsv1beta1.RollingStyleType) []string {
		return UnsupportedInBatchRelease(&rolloutsv1beta1.BatchRelease{Spec: rolloutsv1beta1.BatchReleaseSpec{ReleasePlan: rolloutsv1beta1.ReleasePlan{RollingStyle: style}}})
	}
	for name, c := range map[string]struct{ got, want []string }{
		"job": {UnsupportedInBroadcastJob(&v1beta1.BroadcastJob{Spec: policies}), []string{
			`spec.completionPolicy.type: Unsupported value: "Sometimes": supported values: "Always", "Never"`,
			`spec.failurePolicy.type: Unsupported value: "failfast": supported values: "FailFast", "Continue", "Pause"`,
		}},
		"sound job": {UnsupportedInBroadcastJob(&v1beta1.BroadcastJob{Spec: sound}), nil},
		"bare job":  {UnsupportedInBroadcastJob(&v1beta1.BroadcastJob{}), nil},
		"cron job": {cron(&v1beta1.BroadcastJobTemplateSpec{Spec: policies}), []string{
			`spec.template.broadcastJobTemplate.spec.completionPolicy.type: Unsupported value: "Sometimes": supported values: "Always", "Never"`,
			`spec.template.broadcastJobTemplate.spec.failurePolicy.type: Unsupported value: "failfast": supported values: "FailFast", "Continue", "Pause"`,
		}},
		"cron job of another kind": {cron(nil), nil},
		"sidecars": {UnsupportedInSidecarSet(&v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{Containers: sidecars}}), []string{
			`spec.containers[0].upgradeStrategy.upgradeType: Unsupported value: "Warm": supported values: "ColdUpgrade", "HotUpgrade"`,
			`spec.containers[0].shareVolumeDevicePolicy.type: Unsupported value: "yes": supported values: "enabled", "disabled"`,
		}},
		"sidecars of v1alpha1": {UnsupportedInOldSidecarSet(&v1alpha1.SidecarSet{Spec: v1alpha1.SidecarSetSpec{InitContainers: sidecars}}), []string{
			`spec.initContainers[0].upgradeStrategy.upgradeType: Unsupported value: "Warm": supported values: "ColdUpgrade", "HotUpgrade"`,
			`spec.initContainers[0].shareVolumeDevicePolicy.type: Unsupported value: "yes": supported values: "enabled", "disabled"`,
		}},
		"release":       {release("Green"), []string{`spec.releasePlan.rollingStyle: Unsupported value: "Green": supported values: "Partition", "Canary", "BlueGreen"`}},
		"sound release": {release("BlueGreen"), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
