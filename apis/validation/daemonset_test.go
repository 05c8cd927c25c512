// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundDaemonSet = `
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      containers: [{name: main, image: "agent:1"}]
`

func TestValidateDaemonSet(t *testing.T) {
	const rolling = "spec.updateStrategy.rollingUpdate."
	validate := func(obj *v1beta1.DaemonSet) field.ErrorList { return ValidateDaemonSet(nil, obj) }
	runRows(t, soundDaemonSet, validate, map[string]row{
		"sound":                        good(),
		"name":                         bad("metadata.name: lower case", "metadata.name: Agent"),
		"no selector":                  bad("spec.selector: which pods", "spec.selector:"),
		"empty selector":               bad("spec.selector: every pod", "spec.selector: {}"),
		"selector misses the template": bad("spec.template.metadata.labels: must match spec.selector", "spec.template.metadata.labels: {app: web}"),
		"restart policy":               bad("spec.template.spec.restartPolicy: supported values", "spec.template.spec.restartPolicy: OnFailure"),
		"restart policy Always":        good("spec.template.spec.restartPolicy: Always"),
		"deadline of pods":             bad("spec.template.spec.activeDeadlineSeconds: take the field out", "spec.template.spec.activeDeadlineSeconds: 5"),
		"template without containers":  bad("spec.template.spec.containers: at least one", "spec.template.spec.containers: []"),
		"minReadySeconds":              bad("spec.minReadySeconds: 0 or more", "spec.minReadySeconds: -1"),
		"revisionHistoryLimit":         bad("spec.revisionHistoryLimit: 0 or more", "spec.revisionHistoryLimit: -1"),
		"burst":                        good("spec.burstReplicas: 10%"),
		"burst in quotes":              bad("spec.burstReplicas: number (5) or a percentage", `spec.burstReplicas: "5"`),
		"OnDelete":                     good("spec.updateStrategy.type: OnDelete"),
		"type unknown":                 bad("spec.updateStrategy.type: supported values", "spec.updateStrategy.type: Sideways"),
		"maxUnavailable":               good(rolling + "maxUnavailable: 20%"),
		"maxUnavailable below zero":    bad(rolling+"maxUnavailable: 0 or more", rolling+"maxUnavailable: -1"),
		"maxUnavailable above all":     bad(rolling+"maxUnavailable: above 100%", rolling+"maxUnavailable: 101%"),
		"maxUnavailable in quotes":     bad(rolling+"maxUnavailable: number (5) or a percentage", rolling+`maxUnavailable: "5"`),
		"surge alone":                  good(rolling + "maxSurge: 10%"),
		"surge above all":              bad(rolling+"maxSurge: above 100%", rolling+"maxSurge: 200%"),
		"both":                         bad(rolling+"maxSurge: set one of the two", rolling+"maxSurge: 1", rolling+"maxUnavailable: 1"),
		"neither":                      bad(rolling+"maxUnavailable: no pod could ever be updated", rolling+"maxSurge: 0", rolling+"maxUnavailable: 0%"),
		"in place":                     good(rolling+"rollingUpdateType: InPlaceIfPossible", rolling+"maxUnavailable: 1"),
		"in place with surge":          bad(rolling+"maxSurge: must be 0 with rollingUpdateType InPlaceIfPossible", rolling+"rollingUpdateType: InPlaceIfPossible", rolling+"maxSurge: 1"),
		"Surging is not of v1beta1":    bad(rolling+"rollingUpdateType: supported values", rolling+"rollingUpdateType: Surging"),
		"partition":                    good(rolling + "partition: 50%"),
		"partition below zero":         bad(rolling+"partition: 0 or more", rolling+"partition: -1"),
		"partition above all":          bad(rolling+"partition: above 100%", rolling+"partition: 101%"),
		"selector of nodes":            good(rolling + "selector: {matchLabels: {a: b}}"),
		"selector of all nodes":        good(rolling + "selector: {}"),
		"selector of nodes, broken":    bad(rolling+"selector.matchExpressions[0].operator: not a valid", rolling+"selector.matchExpressions: [{key: a, operator: Sideways}]"),
		"preDelete hook":               good("spec.lifecycle: {preDelete: {finalizersHandler: [a/b]}}"),
		"inPlaceUpdate hook":           bad("spec.lifecycle.inPlaceUpdate: no such hook", "spec.lifecycle: {inPlaceUpdate: {finalizersHandler: [a/b]}}"),
		"partitioned scaling":          good("spec.scaleStrategy.partitionedScaling: true"),
	})
}

func TestValidateDaemonSetUpdate(t *testing.T) {
	cases := map[string]struct{ both, edits, want []string }{
		"everything that may change": {edits: []string{"spec.burstReplicas: 1", "spec.template.spec.containers[0].image: a", "spec.updateStrategy.type: OnDelete",
			"spec.lifecycle: {preDelete: {finalizersHandler: [a]}}", "spec.minReadySeconds: 1", "spec.revisionHistoryLimit: 1", "spec.scaleStrategy.partitionedScaling: true"}},
		"selector":                               {edits: []string{"spec.selector.matchLabels: {app: b}", "spec.template.metadata.labels: {app: b}"}, want: []string{"spec.selector: cannot be changed"}},
		"a broken object, another field touched": {both: []string{"spec.updateStrategy.rollingUpdate: {maxSurge: 1, maxUnavailable: 1}"}, edits: []string{"spec.minReadySeconds: 1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.DaemonSet](t, soundDaemonSet, c.both...)
			obj := edited[v1beta1.DaemonSet](t, soundDaemonSet, append(append([]string{}, c.both...), c.edits...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			compare(t, ValidateDaemonSet(old, obj), c.want)
		})
	}
}

func TestValidateOldDaemonSet(t *testing.T) {
	const rolling = "spec.updateStrategy.rollingUpdate."
	validate := func(obj *v1alpha1.DaemonSet) field.ErrorList { return ValidateOldDaemonSet(nil, obj) }
	runRows(t, soundDaemonSet, validate, map[string]row{
		"sound":                             good(),
		"Surging":                           good(rolling + "rollingUpdateType: Surging"),
		"Surging without maxUnavailable":    good(rolling+"rollingUpdateType: Surging", rolling+"maxUnavailable: 0", rolling+"maxSurge: 10%"),
		"Surging, written out half":         good(rolling+"rollingUpdateType: Surging", rolling+"maxUnavailable: 0"),
		"Surging with maxUnavailable":       bad(rolling+"maxUnavailable: must not be set with rollingUpdateType Surging", rolling+"rollingUpdateType: Surging", rolling+"maxUnavailable: 1"),
		"another type":                      bad(rolling+"rollingUpdateType: supported values", rolling+"rollingUpdateType: Sideways"),
		"what v1beta1 refuses, it refuses":  bad("spec.minReadySeconds: 0 or more", "spec.minReadySeconds: -1"),
		"the annotation for partitions":     good("metadata.annotations: {daemonset.kruise.io/progressive-create-pod: 'true'}"),
		"an annotation of any other value":  good("metadata.annotations: {daemonset.kruise.io/progressive-create-pod: 'some'}"),
		"the surge of Surging is a surge":   bad(rolling+"maxSurge: above 100%", rolling+"rollingUpdateType: Surging", rolling+"maxSurge: 101%"),
		"the surge of Surging is no number": bad(rolling+"maxSurge: number (5) or a percentage", rolling+"rollingUpdateType: Surging", rolling+`maxSurge: "1"`),
	})
	old := edited[v1alpha1.DaemonSet](t, soundDaemonSet, rolling+"rollingUpdateType: Surging", rolling+"maxUnavailable: 1")
	old.ResourceVersion = "1"
	obj := old.DeepCopy()
	obj.Spec.MinReadySeconds = 3
	compare(t, ValidateOldDaemonSet(old, obj), nil)
}
