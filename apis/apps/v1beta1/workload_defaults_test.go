// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// defaultRow is the spec of an object before and after.
type defaultRow struct{ in, want string }

const podDefaults = `{spec: {dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30}}`

// runDefaultRows reads the rows into the part of the object that spec picks, and fills the object.
func runDefaultRows[T, S any](t *testing.T, spec func(*T) *S, fill func(*T), rows map[string]defaultRow) {
	t.Helper()
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			var got, want T
			parse(t, row.in, spec(&got))
			parse(t, row.want, spec(&want))
			fill(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultStatefulSet(t *testing.T) {
	const plain = `replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: OrderedReady`
	const rolling = `updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0, maxUnavailable: 1, podUpdatePolicy: ReCreate, minReadySeconds: 0}}`
	spec := func(o *StatefulSet) *StatefulSetSpec { return &o.Spec }
	runDefaultRows(t, spec, func(o *StatefulSet) { DefaultStatefulSet(o, StatefulSetDefaultOptions{}) }, map[string]defaultRow{
		"empty":                       {`{}`, `{` + plain + `, ` + rolling + `}`},
		"on delete has nothing below": {`{updateStrategy: {type: OnDelete}}`, `{` + plain + `, updateStrategy: {type: OnDelete}}`},
		"what is set stays": {
			`{replicas: 0, revisionHistoryLimit: 0, podManagementPolicy: Parallel, updateStrategy: {rollingUpdate: {partition: 2, maxUnavailable: 30%, podUpdatePolicy: InPlaceOnly, minReadySeconds: 7}}}`,
			`{replicas: 0, revisionHistoryLimit: 0, podManagementPolicy: Parallel, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2, maxUnavailable: 30%, podUpdatePolicy: InPlaceOnly, minReadySeconds: 7}}}`},
		"claims wait for their gates": {`{persistentVolumeClaimRetentionPolicy: {}}`, `{` + plain + `, persistentVolumeClaimRetentionPolicy: {}, ` + rolling + `}`},
	})
	all := StatefulSetDefaultOptions{DefaultOptions: DefaultOptions{Templates: true}, AutoDeletePVC: true, AutoResizePVC: true}
	runDefaultRows(t, spec, func(o *StatefulSet) { DefaultStatefulSet(o, all) }, map[string]defaultRow{
		"gates and templates": {`{persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}, volumeClaimTemplates: [{}]}`,
			`{` + plain + `, ` + rolling + `, persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}, volumeClaimUpdateStrategy: {type: OnDelete},
			template: ` + podDefaults + `, volumeClaimTemplates: [{spec: {volumeMode: Filesystem}, status: {phase: Pending}}]}`},
		"what is set stays": {`{persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, volumeClaimUpdateStrategy: {type: OnPodRollingUpdate}}`,
			`{` + plain + `, ` + rolling + `, persistentVolumeClaimRetentionPolicy: {whenScaled: Retain, whenDeleted: Delete}, volumeClaimUpdateStrategy: {type: OnPodRollingUpdate},
			template: ` + podDefaults + `}`},
	})
}

func TestDefaultDaemonSet(t *testing.T) {
	const plain = `revisionHistoryLimit: 10, burstReplicas: 250`
	runDefaultRows(t, func(o *DaemonSet) *DaemonSetSpec { return &o.Spec }, DefaultDaemonSet, map[string]defaultRow{
		"empty":                       {`{}`, `{` + plain + `, updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Standard, maxUnavailable: 1, maxSurge: 0}}}`},
		"on delete has nothing below": {`{updateStrategy: {type: OnDelete}}`, `{` + plain + `, updateStrategy: {type: OnDelete}}`},
		"a surge stays alone":         {`{updateStrategy: {rollingUpdate: {maxSurge: 1}}}`, `{` + plain + `, updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Standard, maxSurge: 1}}}`},
		"maxUnavailable stays alone":  {`{updateStrategy: {rollingUpdate: {maxUnavailable: 5%}}}`, `{` + plain + `, updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: Standard, maxUnavailable: 5%}}}`},
		"what is set stays": {`{revisionHistoryLimit: 0, burstReplicas: 10%, updateStrategy: {rollingUpdate: {rollingUpdateType: InPlaceIfPossible, maxUnavailable: 1}}}`,
			`{revisionHistoryLimit: 0, burstReplicas: 10%, updateStrategy: {type: RollingUpdate, rollingUpdate: {rollingUpdateType: InPlaceIfPossible, maxUnavailable: 1}}}`},
		"the template is left alone": {`{template: {spec: {containers: [{name: a, image: b}]}}, updateStrategy: {type: OnDelete}}`,
			`{` + plain + `, template: {spec: {containers: [{name: a, image: b}]}}, updateStrategy: {type: OnDelete}}`},
	})
}

func TestDefaultBroadcastJob(t *testing.T) {
	const plain = `parallelism: 2147483647, completionPolicy: {type: Always}, failurePolicy: {type: FailFast}`
	spec := func(o *BroadcastJob) *BroadcastJobSpec { return &o.Spec }
	runDefaultRows(t, spec, func(o *BroadcastJob) { DefaultBroadcastJob(o, DefaultOptions{}) }, map[string]defaultRow{
		"empty": {`{}`, `{` + plain + `}`},
		"what is set stays": {`{parallelism: 40%, completionPolicy: {type: Never}, failurePolicy: {type: Pause, restartLimit: 3}}`,
			`{parallelism: 40%, completionPolicy: {type: Never}, failurePolicy: {type: Pause, restartLimit: 3}}`},
	})
	runDefaultRows(t, spec, func(o *BroadcastJob) { DefaultBroadcastJob(o, DefaultOptions{Templates: true}) }, map[string]defaultRow{
		"templates on request": {`{}`, `{` + plain + `, template: ` + podDefaults + `}`},
	})
}

func TestDefaultAdvancedCronJob(t *testing.T) {
	const plain = `paused: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1`
	const pull = `completionPolicy: {type: Always}, pullPolicy: {timeoutSeconds: 600, backoffLimit: 3}, imagePullPolicy: IfNotPresent`
	spec := func(o *AdvancedCronJob) *AdvancedCronJobSpec { return &o.Spec }
	runDefaultRows(t, spec, func(o *AdvancedCronJob) { DefaultAdvancedCronJob(o, DefaultOptions{}) }, map[string]defaultRow{
		"empty": {`{}`, `{` + plain + `, concurrencyPolicy: Allow}`},
		"what is set stays": {`{paused: true, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0, concurrencyPolicy: Forbid}`,
			`{paused: true, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0, concurrencyPolicy: Forbid}`},
		"pulls replace each other": {`{template: {imageListPullJobTemplate: {spec: {images: [a]}}}}`,
			`{` + plain + `, concurrencyPolicy: Replace, template: {imageListPullJobTemplate: {spec: {images: [a], ` + pull + `}}}}`},
		"pulls keep what is set": {`{template: {imageListPullJobTemplate: {spec: {pullPolicy: {timeoutSeconds: 5}, imagePullPolicy: Always}}}}`,
			`{` + plain + `, concurrencyPolicy: Replace, template: {imageListPullJobTemplate: {spec: {completionPolicy: {type: Always}, pullPolicy: {timeoutSeconds: 5, backoffLimit: 3}, imagePullPolicy: Always}}}}`},
		"pulls that have a completion policy are left alone": {`{template: {imageListPullJobTemplate: {spec: {completionPolicy: {type: Always}}}}}`,
			`{` + plain + `, concurrencyPolicy: Replace, template: {imageListPullJobTemplate: {spec: {completionPolicy: {type: Always}}}}}`},
		"no templates": {`{template: {jobTemplate: {}, broadcastJobTemplate: {}}}`, `{` + plain + `, concurrencyPolicy: Allow, template: {jobTemplate: {}, broadcastJobTemplate: {}}}`},
	})
	runDefaultRows(t, spec, func(o *AdvancedCronJob) { DefaultAdvancedCronJob(o, DefaultOptions{Templates: true}) }, map[string]defaultRow{
		"templates on request": {`{template: {jobTemplate: {}, broadcastJobTemplate: {}}}`,
			`{` + plain + `, concurrencyPolicy: Allow, template: {jobTemplate: {spec: {template: ` + podDefaults + `}}, broadcastJobTemplate: {spec: {template: ` + podDefaults + `}}}}`},
	})
}
