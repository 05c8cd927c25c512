// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundCloneSet = `
metadata: {name: web, namespace: default}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "web:1"}]
`

func newCloneSet(obj *v1beta1.CloneSet) field.ErrorList { return ValidateCloneSet(nil, obj) }

func TestValidateCloneSet(t *testing.T) {
	const rolling = "spec.updateStrategy.rollingUpdate."
	runRows(t, soundCloneSet, newCloneSet, map[string]row{
		"sound":                                   good(),
		"name":                                    bad("metadata.name: lower case", "metadata.name: Web"),
		"no namespace":                            bad("metadata.namespace: Required", "metadata.namespace:"),
		"negative replicas":                       bad("spec.replicas: must be 0 or more", "spec.replicas: -1"),
		"no replicas":                             good("spec.replicas:"),
		"no selector":                             bad("spec.selector: which pods", "spec.selector:"),
		"empty selector":                          bad("spec.selector: every pod", "spec.selector: {}"),
		"bad selector operator":                   bad("spec.selector.matchExpressions[0].operator: not a valid", "spec.selector.matchExpressions: [{key: a, operator: Sideways}]"),
		"bad selector value":                      bad("spec.selector: Invalid value", "spec.selector.matchExpressions: [{key: b, operator: NotIn, values: ['a b']}]"),
		"selector misses the template":            bad("spec.template.metadata.labels: must match spec.selector (app=web)", "spec.template.metadata.labels: {app: other}"),
		"selector on what each pod gets":          bad("spec.selector: labels that each pod gets by itself", "spec.selector.matchLabels: {app: web, pod-template-hash: a}", "spec.template.metadata.labels: {app: web, pod-template-hash: a}"),
		"selector that all pods match":            good("spec.selector.matchExpressions: [{key: pod-template-hash, operator: Exists}]", "spec.template.metadata.labels: {app: web, pod-template-hash: a}"),
		"restart policy":                          bad("spec.template.spec.restartPolicy: supported values: \"Always\"", "spec.template.spec.restartPolicy: Never"),
		"restart policy Always":                   good("spec.template.spec.restartPolicy: Always"),
		"deadline of pods":                        bad("spec.template.spec.activeDeadlineSeconds: take the field out", "spec.template.spec.activeDeadlineSeconds: 5"),
		"claims can be mounted":                   good("spec.volumeClaimTemplates: [{metadata: {name: data}}]", "spec.template.spec.containers[0].volumeMounts: [{name: data, mountPath: /d}]"),
		"unknown volume":                          bad("spec.template.spec.containers[0].volumeMounts[0].name: Not found", "spec.template.spec.containers[0].volumeMounts: [{name: data, mountPath: /d}]"),
		"pods to delete":                          good("spec.scaleStrategy.podsToDelete: [a, b]"),
		"pods to delete twice":                    bad("spec.scaleStrategy.podsToDelete[1]: Duplicate", "spec.scaleStrategy.podsToDelete: [a, a]"),
		"scale budget":                            good("spec.scaleStrategy.maxUnavailable: 10%"),
		"scale budget in quotes":                  bad("spec.scaleStrategy.maxUnavailable: number (5) or a percentage", `spec.scaleStrategy.maxUnavailable: "5"`),
		"type OnDelete":                           good("spec.updateStrategy.type: OnDelete"),
		"type Surging":                            bad("spec.updateStrategy.type: supported values: \"RollingUpdate\", \"OnDelete\"", "spec.updateStrategy.type: Surging"),
		"policy":                                  good(rolling + "podUpdatePolicy: InPlaceIfPossible"),
		"policy unknown":                          bad(rolling+"podUpdatePolicy: supported values", rolling+"podUpdatePolicy: InPlace"),
		"partition":                               good(rolling + "partition: 8"),
		"partition with fractions":                good(rolling + "partition: 12.5%"),
		"partition in quotes":                     bad(rolling+"partition: number (5) or a percentage", rolling+`partition: "5"`),
		"partition below zero":                    bad(rolling+"partition: 0 or more", rolling+"partition: -1"),
		"maxUnavailable in quotes":                bad(rolling+"maxUnavailable: number (5) or a percentage", rolling+`maxUnavailable: "5"`),
		"maxUnavailable with fractions":           bad(rolling+"maxUnavailable: whole percentage", rolling+"maxUnavailable: 12.5%"),
		"maxSurge in quotes":                      bad(rolling+"maxSurge: number (5) or a percentage", rolling+`maxSurge: "5"`),
		"maxSurge is a word":                      bad(rolling+"maxSurge: number (5) or a percentage", rolling+"maxSurge: some%"),
		"no budget at all":                        bad(rolling+"maxUnavailable: must be 1 or more when maxSurge is 0", rolling+"maxUnavailable: 0"),
		"no budget in percent":                    bad(rolling+"maxUnavailable: must be 1 or more when maxSurge is 0", rolling+"maxUnavailable: 0%", rolling+"maxSurge: 0%"),
		"surge alone is a budget":                 good(rolling+"maxUnavailable: 0", rolling+"maxSurge: 1"),
		"a small percentage is one pod":           good(rolling + "maxUnavailable: 1%"),
		"no budget, no replicas":                  good("spec.replicas: 0", rolling+"maxUnavailable: 0"),
		"InPlaceOnly":                             good(rolling + "podUpdatePolicy: InPlaceOnly"),
		"InPlaceOnly cannot surge":                bad(rolling+"maxSurge: must be 0 with podUpdatePolicy InPlaceOnly", rolling+"podUpdatePolicy: InPlaceOnly", rolling+"maxSurge: 1"),
		"weights":                                 good(rolling + "priorityStrategy.weightPriority: [{weight: 100, matchSelector: {matchLabels: {a: b}}}]"),
		"weight out of range":                     bad(rolling+"priorityStrategy.weightPriority[0].weight: between 0 and 100", rolling+"priorityStrategy.weightPriority: [{weight: 101, matchSelector: {matchLabels: {a: b}}}]"),
		"weight selects all":                      bad(rolling+"priorityStrategy.weightPriority[0].matchSelector: must not be empty", rolling+"priorityStrategy.weightPriority: [{weight: 1, matchSelector: {}}]"),
		"order":                                   good(rolling + "priorityStrategy.orderPriority: [{orderedKey: k}]"),
		"order without a key":                     bad(rolling+"priorityStrategy.orderPriority[0].orderedKey: name a label key", rolling+"priorityStrategy.orderPriority: [{orderedKey: ''}]"),
		"order and weights":                       bad(rolling+"priorityStrategy: either weightPriority or orderPriority", rolling+"priorityStrategy: {orderPriority: [{orderedKey: k}], weightPriority: [{weight: 1, matchSelector: {}}]}"),
		"scatter":                                 good(rolling + "scatterStrategy: [{key: a, value: b}, {key: a, value: c}]"),
		"scatter without a key":                   bad(rolling+"scatterStrategy[0].key: name a label key", rolling+"scatterStrategy: [{key: '', value: b}]"),
		"scatter twice":                           bad(rolling+"scatterStrategy[1]: Duplicate", rolling+"scatterStrategy: [{key: a, value: b}, {key: a, value: b}]"),
		"pre-download":                            good(rolling + "inPlaceUpdateStrategy: {imagePreDownloadParallelism: '3', imagePreDownloadTimeoutSeconds: 0, imagePreDownloadMinUpdatedReadyPods: 1}"),
		"pre-download in percent":                 bad(rolling+"inPlaceUpdateStrategy.imagePreDownloadParallelism: no percentage", rolling+"inPlaceUpdateStrategy.imagePreDownloadParallelism: 5%"),
		"pre-download below zero":                 bad(rolling+"inPlaceUpdateStrategy.imagePreDownloadParallelism: 0 or more", rolling+"inPlaceUpdateStrategy.imagePreDownloadParallelism: -1"),
		"pre-download timeout below zero":         bad(rolling+"inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds: 0 or more", rolling+"inPlaceUpdateStrategy.imagePreDownloadTimeoutSeconds: -1"),
		"pre-download ready pods below zero":      bad(rolling+"inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods: 0 or more", rolling+"inPlaceUpdateStrategy.imagePreDownloadMinUpdatedReadyPods: -1"),
		"deadline not above minReady: v1beta1":    good("spec.progressDeadlineSeconds: 1", "spec.minReadySeconds: 5"),
		"several complaints at once keep order":   {edits: []string{"spec.replicas: -1", "spec.selector:"}, want: []string{"spec.replicas: 0 or more", "spec.selector: Required"}},
		"an unlisted pod in podsToDelete is fine": good("spec.scaleStrategy.podsToDelete: [no-such-pod]"),
	})
}

func TestValidateCloneSetUpdate(t *testing.T) {
	cases := map[string]struct {
		old, obj []string
		want     []string
	}{
		"every field but the selector": {obj: []string{"spec.replicas: 1", "spec.lifecycle: {preNormal: {finalizersHandler: [a]}}", "spec.scaleStrategy.podsToDelete: [a]",
			"spec.updateStrategy.type: OnDelete", "spec.minReadySeconds: 1", "spec.progressDeadlineSeconds: 1", "spec.volumeClaimTemplates: [{metadata: {name: a}}]",
			"spec.revisionHistoryLimit: 1", "spec.template.spec.containers[0].env: [{name: a, value: b}]"}},
		"selector": {obj: []string{"spec.selector: {matchLabels: {app: other}}", "spec.template.metadata.labels: {app: other}"},
			want: []string{"spec.selector: cannot be changed"}},
		"name": {obj: []string{"metadata.name: other"}, want: []string{"metadata.name: immutable"}},
		"a broken object, another field touched": {
			old: []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "5"`},
			obj: []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "5"`, "spec.replicas: 6", "metadata.labels: {a: b}"}},
		"a broken object, the broken field touched": {
			old:  []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "5"`},
			obj:  []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "6"`},
			want: []string{"spec.updateStrategy.rollingUpdate.maxUnavailable: number (5) or a percentage"}},
		"a broken object, broken further": {
			old:  []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "5"`},
			obj:  []string{`spec.updateStrategy.rollingUpdate.maxUnavailable: "5"`, "spec.replicas: -1"},
			want: []string{"spec.replicas: 0 or more"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.CloneSet](t, soundCloneSet, c.old...)
			obj := edited[v1beta1.CloneSet](t, soundCloneSet, c.obj...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			before := obj.DeepCopy()
			compare(t, ValidateCloneSet(old, obj), c.want)
			if !equalObjects(before, obj) {
				t.Error("validation changed the object")
			}
		})
	}
}

func TestValidateOldCloneSet(t *testing.T) {
	validate := func(obj *v1alpha1.CloneSet) field.ErrorList { return ValidateOldCloneSet(nil, obj) }
	runRows(t, soundCloneSet, validate, map[string]row{
		"sound":                            good(),
		"as its users write it":            good("spec.replicas: 10", "spec.updateStrategy: {type: InPlaceIfPossible, partition: 8, maxUnavailable: 20%}"),
		"OnDelete is let in":               good("spec.updateStrategy.type: OnDelete"),
		"type unknown":                     bad("spec.updateStrategy.type: supported values", "spec.updateStrategy.type: RollingUpdate"),
		"fields are named as they are":     bad("spec.updateStrategy.maxSurge: number (5) or a percentage", `spec.updateStrategy.maxSurge: "5"`),
		"InPlaceOnly cannot surge":         bad("spec.updateStrategy.maxSurge: must be 0", "spec.updateStrategy: {type: InPlaceOnly, maxSurge: 1}"),
		"deadline below zero":              {edits: []string{"spec.progressDeadlineSeconds: -1"}, want: []string{"spec.progressDeadlineSeconds: 0 or more", "spec.progressDeadlineSeconds: greater than minReadySeconds"}},
		"deadline not above minReady":      bad("spec.progressDeadlineSeconds: greater than minReadySeconds", "spec.progressDeadlineSeconds: 5", "spec.minReadySeconds: 5"),
		"no deadline at all":               good("spec.progressDeadlineSeconds: 2147483647", "spec.minReadySeconds: 2147483647"),
		"what v1beta1 refuses, it refuses": bad("spec.replicas: 0 or more", "spec.replicas: -1"),
	})
}

func TestValidateOldCloneSetUpdate(t *testing.T) {
	const inPlaceOnly = "spec.updateStrategy.type: InPlaceOnly"
	cases := map[string]struct {
		edits []string
		want  []string
	}{
		"image":             {edits: []string{inPlaceOnly, "spec.template.spec.containers[0].image: 'web:2'"}},
		"labels of pods":    {edits: []string{inPlaceOnly, "spec.template.metadata.labels: {app: web, b: c}"}},
		"env":               {edits: []string{inPlaceOnly, "spec.template.spec.containers[0].env: [{name: a, value: b}]"}, want: []string{"spec.template.spec: only the images"}},
		"another container": {edits: []string{inPlaceOnly, "spec.template.spec.containers[1]: {name: side, image: a}"}, want: []string{"spec.template.spec: only the images"}},
		"env, recreated":    {edits: []string{"spec.template.spec.containers[0].env: [{name: a, value: b}]"}},
		"old deadline kept": {edits: []string{"spec.progressDeadlineSeconds: 1", "spec.minReadySeconds: 5", "spec.replicas: 1"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1alpha1.CloneSet](t, soundCloneSet, "spec.progressDeadlineSeconds: 1", "spec.minReadySeconds: 5")
			obj := edited[v1alpha1.CloneSet](t, soundCloneSet, append([]string{"spec.progressDeadlineSeconds: 1", "spec.minReadySeconds: 5"}, c.edits...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			compare(t, ValidateOldCloneSet(old, obj), c.want)
		})
	}
}

func TestCloneSetWarnings(t *testing.T) {
	for length, want := range map[int]int{1: 0, 57: 0, 58: 1, 253: 1} {
		name := strings.Repeat("w", length)
		set, old := &v1beta1.CloneSet{}, &v1alpha1.CloneSet{}
		set.Name, old.Name = name, name
		if got, gotOld := CloneSetWarnings(set), CloneSetWarnings(old); len(got) != want || len(gotOld) != want {
			t.Errorf("%d characters: %v, %v", length, got, gotOld)
		}
	}
}
