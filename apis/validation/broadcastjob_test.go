// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundBroadcastJob = `
metadata: {name: pull, namespace: default}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "job:1"}]
`

func TestValidateBroadcastJob(t *testing.T) {
	const never, restart = "spec.completionPolicy.type: Never", "spec.template.spec.restartPolicy: "
	validate := func(obj *v1beta1.BroadcastJob) field.ErrorList { return ValidateBroadcastJob(nil, obj) }
	runRows(t, soundBroadcastJob, validate, map[string]row{
		"sound":                         good(),
		"name of 63":                    good("metadata.name: " + strings.Repeat("a", 63)),
		"name of 64":                    bad("metadata.name: at most 63", "metadata.name: "+strings.Repeat("a", 64)),
		"name with a dot":               bad("metadata.name: no dots", "metadata.name: a.b"),
		"OnFailure":                     good(restart+"OnFailure", "spec.failurePolicy: {type: Continue, restartLimit: 3}"),
		"Always":                        bad("spec.template.spec.restartPolicy: choose Never or OnFailure", restart+"Always"),
		"no restart policy":             bad("spec.template.spec.restartPolicy: choose Never or OnFailure", restart),
		"unknown restart policy":        bad("spec.template.spec.restartPolicy: supported values", restart+"Sometimes"),
		"type Never":                    good(never),
		"type Never with a deadline":    bad("spec.completionPolicy.activeDeadlineSeconds: does not end", never, "spec.completionPolicy.activeDeadlineSeconds: 1"),
		"type Never with a TTL":         bad("spec.completionPolicy.ttlSecondsAfterFinished: does not end", never, "spec.completionPolicy.ttlSecondsAfterFinished: 1"),
		"type Always with both":         good("spec.completionPolicy: {type: Always, activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 1}"),
		"unknown types pass":            good("spec.completionPolicy.type: Sometimes"),
		"parallelism":                   good("spec.parallelism: 40%"),
		"parallelism in quotes":         bad("spec.parallelism: number (5) or a percentage", `spec.parallelism: "4"`),
		"label of the name":             bad("spec.template.metadata.labels[broadcastjob-name]: take it out", "spec.template.metadata.labels: {broadcastjob-name: a}"),
		"label of the UID":              bad("spec.template.metadata.labels[broadcastjob-controller-uid]: take it out", "spec.template.metadata.labels: {broadcastjob-controller-uid: a}"),
		"labels of no value pass":       good("spec.template.metadata.labels: {broadcastjob-name: ''}"),
		"template that no pod can have": bad("spec.template.spec.containers[0].image: which image", "spec.template.spec.containers[0].image: ''"),
	})
}

func TestValidateBroadcastJobUpdate(t *testing.T) {
	old := edited[v1beta1.BroadcastJob](t, soundBroadcastJob)
	obj := edited[v1beta1.BroadcastJob](t, soundBroadcastJob, "spec.paused: true", "spec.template.spec.containers[0].image: other", "spec.parallelism: 1", "spec.failurePolicy.type: Pause")
	old.ResourceVersion, obj.ResourceVersion = "1", "1"
	compare(t, ValidateBroadcastJob(old, obj), nil)
	compare(t, ValidateBroadcastJob(old, edited[v1beta1.BroadcastJob](t, soundBroadcastJob, "metadata.resourceVersion: '1'", never())), []string{"spec.completionPolicy.ttlSecondsAfterFinished: does not end"})
}

func never() string { return "spec.completionPolicy: {type: Never, ttlSecondsAfterFinished: 1}" }
