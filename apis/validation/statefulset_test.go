// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundStatefulSet = `
metadata: {name: db, namespace: default}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: main, image: "db:1", volumeMounts: [{name: data, mountPath: /d}]}]
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`

func TestValidateStatefulSet(t *testing.T) {
	const rolling, parallel = "spec.updateStrategy.rollingUpdate.", "spec.podManagementPolicy: Parallel"
	const gate = "spec.template.spec.readinessGates: [{conditionType: InPlaceUpdateReady}]"
	validate := func(obj *v1beta1.StatefulSet) field.ErrorList { return ValidateStatefulSet(nil, obj, ClaimResizing{}) }
	runRows(t, soundStatefulSet, validate, map[string]row{
		"sound":                          good(),
		"name":                           bad("metadata.name: lower case", "metadata.name: Db"),
		"negative replicas":              bad("spec.replicas: 0 or more", "spec.replicas: -1"),
		"no selector":                    bad("spec.selector: which pods", "spec.selector:"),
		"empty selector":                 bad("spec.selector: every pod", "spec.selector: {}"),
		"selector misses the template":   bad("spec.template.metadata.labels: must match spec.selector", "spec.template.metadata.labels: {app: web}"),
		"unknown volume":                 bad("spec.template.spec.containers[0].volumeMounts[0].name: Not found", "spec.volumeClaimTemplates: []"),
		"restart policy":                 bad("spec.template.spec.restartPolicy: supported values", "spec.template.spec.restartPolicy: Never"),
		"deadline of pods":               bad("spec.template.spec.activeDeadlineSeconds: take the field out", "spec.template.spec.activeDeadlineSeconds: 5"),
		"pod management":                 good(parallel),
		"pod management unknown":         bad("spec.podManagementPolicy: supported values", "spec.podManagementPolicy: Sideways"),
		"reserved ordinals":              good(`spec.reserveOrdinals: [0, 7, "2-4", "5-5"]`),
		"reserved below zero":            bad("spec.reserveOrdinals[1]: 0 or more", "spec.reserveOrdinals: [1, -1]"),
		"reserved number in quotes":      bad("spec.reserveOrdinals[0]: a range in quotes", `spec.reserveOrdinals: ["1"]`),
		"reserved range turned round":    bad("spec.reserveOrdinals[0]: not start after its end", `spec.reserveOrdinals: ["4-2"]`),
		"reserved range beyond all":      bad("spec.reserveOrdinals[0]: 2147483647", `spec.reserveOrdinals: ["4-99999999999"]`),
		"ordinals":                       good("spec.ordinals.start: 5"),
		"ordinals below zero":            bad("spec.ordinals.start: 0 or more", "spec.ordinals.start: -1"),
		"retention":                      good("spec.persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}"),
		"retention says half":            good("spec.persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}"),
		"retention unknown":              bad("spec.persistentVolumeClaimRetentionPolicy.whenDeleted: supported values", "spec.persistentVolumeClaimRetentionPolicy: {whenDeleted: Keep}"),
		"claim update":                   good("spec.volumeClaimUpdateStrategy.type: OnPodRollingUpdate"),
		"claim update unknown":           bad("spec.volumeClaimUpdateStrategy.type: supported values", "spec.volumeClaimUpdateStrategy.type: Now"),
		"OnDelete":                       good("spec.updateStrategy.type: OnDelete"),
		"OnDelete with rollingUpdate":    bad("spec.updateStrategy.rollingUpdate: take it out", "spec.updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}"),
		"type unknown":                   bad("spec.updateStrategy.type: supported values", "spec.updateStrategy.type: Sideways"),
		"partition":                      good(rolling + "partition: 8"),
		"partition below zero":           bad(rolling+"partition: 0 or more", rolling+"partition: -1"),
		"minReadySeconds":                good(rolling + "minReadySeconds: 300"),
		"minReadySeconds above 300":      bad(rolling+"minReadySeconds: between 0 and 300", rolling+"minReadySeconds: 301"),
		"minReadySeconds below 0":        bad(rolling+"minReadySeconds: between 0 and 300", rolling+"minReadySeconds: -1"),
		"maxUnavailable in order":        bad(rolling+"maxUnavailable: must be 1 unless", rolling+"maxUnavailable: 2"),
		"maxUnavailable in order, %":     bad(rolling+"maxUnavailable: must be 1 unless", rolling+"maxUnavailable: 1%"),
		"maxUnavailable":                 good(parallel, rolling+"maxUnavailable: 30%"),
		"maxUnavailable 0":               bad(rolling+"maxUnavailable: 1 or more", parallel, rolling+"maxUnavailable: 0"),
		"maxUnavailable 0%":              bad(rolling+"maxUnavailable: above 0%", parallel, rolling+"maxUnavailable: 0%"),
		"maxUnavailable in quotes":       bad(rolling+"maxUnavailable: number (5) or a percentage", parallel, rolling+`maxUnavailable: "2"`),
		"scale budget":                   good(parallel, "spec.scaleStrategy.maxUnavailable: 100%"),
		"scale budget of one, in order":  good("spec.scaleStrategy.maxUnavailable: 1"),
		"scale budget in order":          bad("spec.scaleStrategy.maxUnavailable: must be 1 unless", "spec.scaleStrategy.maxUnavailable: 2"),
		"scale budget 0":                 bad("spec.scaleStrategy.maxUnavailable: 1 or more", parallel, "spec.scaleStrategy.maxUnavailable: 0"),
		"in place with its gate":         good(gate, rolling+"podUpdatePolicy: InPlaceIfPossible"),
		"in place without":               bad(rolling+"podUpdatePolicy: InPlaceUpdateReady in spec.template.spec.readinessGates", rolling+"podUpdatePolicy: InPlaceOnly"),
		"policy unknown":                 bad(rolling+"podUpdatePolicy: supported values", rolling+"podUpdatePolicy: InPlace"),
		"unordered":                      good(parallel, rolling+"unorderedUpdate.priorityStrategy.orderPriority: [{orderedKey: k}]"),
		"unordered, in order":            bad(rolling+"unorderedUpdate: needs podManagementPolicy Parallel", rolling+"unorderedUpdate: {}"),
		"unordered, order without a key": bad(rolling+"unorderedUpdate.priorityStrategy.orderPriority[0].orderedKey: name a label key", parallel, rolling+"unorderedUpdate.priorityStrategy.orderPriority: [{orderedKey: ''}]"),
		"unordered, weight out of range": bad(rolling+"unorderedUpdate.priorityStrategy.weightPriority[0].weight: between 0 and 100", parallel, rolling+"unorderedUpdate.priorityStrategy.weightPriority: [{weight: 101, matchSelector: {matchLabels: {a: b}}}]"),
	})
}

func TestValidateStatefulSetUpdate(t *testing.T) {
	const inPlaceOnly = "spec.updateStrategy.rollingUpdate.podUpdatePolicy: InPlaceOnly"
	const gate = "spec.template.spec.readinessGates: [{conditionType: InPlaceUpdateReady}]"
	const resize = "spec.volumeClaimUpdateStrategy.type: OnPodRollingUpdate"
	const claim = "spec.volumeClaimTemplates[0].spec."
	yes, no := true, false
	class := func(name string, expands *bool, age time.Duration, isDefault string) storagev1.StorageClass {
		return storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{defaultClassKey: isDefault},
				CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0).Add(-age))},
			AllowVolumeExpansion: expands,
		}
	}
	classes := []storagev1.StorageClass{
		class("stiff", &no, 0, ""), class("unsure", nil, 0, ""), class("elastic", &yes, 0, ""),
		class("old-default", &no, time.Hour, "true"), class("new-default", &yes, time.Minute, "true"), class("older-default", &no, 2*time.Hour, "true"),
	}
	cases := map[string]struct {
		both, edits []string
		resizing    ClaimResizing
		want        []string
	}{
		"everything that may change": {edits: []string{"spec.replicas: 1", "spec.ordinals.start: 2", "spec.reserveOrdinals: [1]", "spec.revisionHistoryLimit: 1",
			"spec.lifecycle: {preDelete: {finalizersHandler: [a]}}", "spec.persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}", claim + "resources.requests.storage: 2Gi",
			resize, "spec.updateStrategy.type: OnDelete", "spec.scaleStrategy.maxUnavailable: 1", "spec.template.spec.containers[0].image: 'db:2'"}},
		"selector":       {edits: []string{"spec.selector.matchLabels: {app: other}", "spec.template.metadata.labels: {app: other}"}, want: []string{"spec.selector: cannot be changed"}},
		"serviceName":    {edits: []string{"spec.serviceName: other"}, want: []string{"spec.serviceName: cannot be changed"}},
		"pod management": {edits: []string{"spec.podManagementPolicy: Parallel"}, want: []string{"spec.podManagementPolicy: cannot be changed"}},
		"pod management, its default written out":     {edits: []string{"spec.podManagementPolicy: OrderedReady"}},
		"in place only: image":                        {both: []string{inPlaceOnly, gate}, edits: []string{"spec.template.spec.containers[0].image: 'db:2'"}},
		"in place only: env":                          {both: []string{inPlaceOnly, gate}, edits: []string{"spec.template.spec.containers[0].env: [{name: a, value: b}]"}, want: []string{"spec.template.spec: only the images"}},
		"claims follow: other templates":              {both: []string{resize}, edits: []string{"spec.volumeClaimTemplates[1].metadata.name: more"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates: neither added nor taken out"}},
		"claims follow: another name":                 {both: []string{resize}, edits: []string{"spec.volumeClaimTemplates[0].metadata.name: more", "spec.template.spec.containers[0].volumeMounts[0].name: more"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates[0].metadata.name: renamed"}},
		"claims follow: access modes":                 {both: []string{resize}, edits: []string{claim + "accessModes: [ReadWriteMany]"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates[0].spec.accessModes: only the storage"}},
		"claims follow: volume mode":                  {both: []string{resize}, edits: []string{claim + "volumeMode: Block"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates[0].spec: only the storage"}},
		"claims follow: class":                        {both: []string{resize, claim + "storageClassName: a"}, edits: []string{claim + "storageClassName: b"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates[0].spec.storageClassName: only the storage"}},
		"claims follow: class set for the first time": {both: []string{resize}, edits: []string{claim + "storageClassName: b"}, resizing: ClaimResizing{Enabled: true}},
		"claims follow: shrinking":                    {both: []string{resize}, edits: []string{claim + "resources.requests.storage: 1Mi"}, resizing: ClaimResizing{Enabled: true}},
		"claims follow, the gate is off":              {both: []string{resize}, edits: []string{claim + "accessModes: [ReadWriteMany]"}},
		"the new strategy counts":                     {edits: []string{resize, claim + "accessModes: [ReadWriteMany]"}, resizing: ClaimResizing{Enabled: true}, want: []string{"spec.volumeClaimTemplates[0].spec.accessModes: only the storage"}},
		"a class that expands":                        {both: []string{resize, claim + "storageClassName: elastic"}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes}},
		"a class that does not say":                   {both: []string{resize, claim + "storageClassName: unsure"}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes}},
		"a class that does not":                       {both: []string{resize, claim + "storageClassName: stiff"}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes}, want: []string{"spec.volumeClaimTemplates[0].spec.storageClassName: allowVolumeExpansion"}},
		"a class that is not there":                   {both: []string{resize, claim + "storageClassName: none"}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes}, want: []string{"spec.volumeClaimTemplates[0].spec.storageClassName: no such storage class"}},
		"no class: the newest default":                {both: []string{resize}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes}},
		"no class: a default that does not":           {both: []string{resize}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes[3:4]}, want: []string{"spec.volumeClaimTemplates[0].spec.storageClassName: old-default does not allow"}},
		"no class, no default":                        {both: []string{resize}, edits: []string{claim + "resources.requests.storage: 2Gi"}, resizing: ClaimResizing{true, classes[:1]}},
		"a broken object, another field touched":      {both: []string{"spec.updateStrategy.rollingUpdate.maxUnavailable: 2"}, edits: []string{"spec.replicas: 5"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.StatefulSet](t, soundStatefulSet, c.both...)
			obj := edited[v1beta1.StatefulSet](t, soundStatefulSet, append(append([]string{}, c.both...), c.edits...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			before := obj.DeepCopy()
			compare(t, ValidateStatefulSet(old, obj, c.resizing), c.want)
			if !equalObjects(before, obj) {
				t.Error("validation changed the object")
			}
		})
	}
}
