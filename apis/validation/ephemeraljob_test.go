// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

const soundEphemeralJob = `
metadata: {name: debug, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    ephemeralContainers: [{name: debug, image: "busybox:1", imagePullPolicy: IfNotPresent, terminationMessagePolicy: File}]
`

func TestValidateEphemeralJob(t *testing.T) {
	const container = "spec.template.ephemeralContainers[0]."
	validate := func(obj *v1alpha1.EphemeralJob) field.ErrorList { return ValidateEphemeralJob(nil, obj) }
	runRows(t, soundEphemeralJob, validate, map[string]row{
		"sound": good(),
		"all that may be set": good(container+"command: [a]", container+"args: [b]", container+"workingDir: /", container+"env: [{name: A, value: b}]", container+"envFrom: [{secretRef: {name: a}}]",
			container+"volumeMounts: [{name: any, mountPath: /a}]", container+"volumeDevices: [{name: any, devicePath: /a}]", container+"terminationMessagePath: /a",
			container+"securityContext: {runAsUser: 0}", container+"stdin: true", container+"stdinOnce: true", container+"tty: true", container+"targetContainerName: any"),
		"no containers pass":              good("spec.template.ephemeralContainers: []"),
		"no selector passes":              good("spec.selector:"),
		"empty selector passes":           good("spec.selector: {}"),
		"broken selector":                 bad("spec.selector.matchExpressions[0].operator: not a valid", "spec.selector: {matchExpressions: [{key: a, operator: Sideways}]}"),
		"no name":                         bad(container+"name: name the container", container+"name: ''"),
		"name":                            bad(container+"name: lower case", container+"name: A"),
		"name twice":                      bad("spec.template.ephemeralContainers[1].name: Duplicate", "spec.template.ephemeralContainers[1]: {name: debug, image: a, imagePullPolicy: Always, terminationMessagePolicy: File}"),
		"no image":                        bad(container+"image: which image", container+"image: ''"),
		"image with spaces":               bad(container+"image: spaces", container+"image: ' a'"),
		"no pull policy":                  bad(container+"imagePullPolicy: supported values", container+"imagePullPolicy: ''"),
		"pull policy unknown":             bad(container+"imagePullPolicy: supported values", container+"imagePullPolicy: Sometimes"),
		"no termination message policy":   bad(container+"terminationMessagePolicy: supported values", container+"terminationMessagePolicy: ''"),
		"env without a name":              bad(container+"env[0].name: name the variable", container+"env: [{value: b}]"),
		"envFrom without a source":        {edits: []string{container + "envFrom: [{}]"}, want: []string{container + "envFrom[0]: exactly one"}},
		"user that cannot be":             bad(container+"securityContext.runAsUser: between 0 and", container+"securityContext: {runAsUser: -1}"),
		"ports":                           bad(container+"ports: take it out", container+"ports: [{containerPort: 80}]"),
		"resources":                       bad(container+"resources: take it out", container+"resources: {limits: {cpu: 1}}"),
		"livenessProbe":                   bad(container+"livenessProbe: take it out", container+"livenessProbe: {exec: {command: [a]}}"),
		"readinessProbe":                  bad(container+"readinessProbe: take it out", container+"readinessProbe: {exec: {command: [a]}}"),
		"startupProbe":                    bad(container+"startupProbe: take it out", container+"startupProbe: {exec: {command: [a]}}"),
		"lifecycle":                       bad(container+"lifecycle: take it out", container+"lifecycle: {preStop: {exec: {command: [a]}}}"),
		"restartPolicy":                   bad(container+"restartPolicy: take it out", container+"restartPolicy: Always"),
		"resizePolicy":                    bad(container+"resizePolicy: take it out", container+"resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]"),
		"subPath":                         bad(container+"volumeMounts[0].subPath: whole volumes", container+"volumeMounts: [{name: a, mountPath: /a, subPath: b}]"),
		"subPathExpr":                     bad(container+"volumeMounts[0].subPathExpr: whole volumes", container+"volumeMounts: [{name: a, mountPath: /a, subPathExpr: b}]"),
		"fields that are there and empty": good(container+"ports: []", container+"resources: {}"),
	})
	old := edited[v1alpha1.EphemeralJob](t, soundEphemeralJob, "metadata.resourceVersion: '1'", container+"imagePullPolicy: ''")
	obj := edited[v1alpha1.EphemeralJob](t, soundEphemeralJob, "metadata.resourceVersion: '1'", container+"imagePullPolicy: ''", "spec.paused: true")
	compare(t, ValidateEphemeralJob(old, obj), nil)
}

// Objects that hold nothing crash nothing.
func TestEmptyObjectsAreOnlyComplainedOf(t *testing.T) {
	for name, list := range map[string]field.ErrorList{
		"StatefulSet":          ValidateStatefulSet(&v1beta1.StatefulSet{}, &v1beta1.StatefulSet{}, ClaimResizing{Enabled: true}),
		"DaemonSet":            ValidateDaemonSet(nil, &v1beta1.DaemonSet{}),
		"old DaemonSet":        ValidateOldDaemonSet(nil, &v1alpha1.DaemonSet{}),
		"BroadcastJob":         ValidateBroadcastJob(nil, &v1beta1.BroadcastJob{}),
		"AdvancedCronJob":      ValidateAdvancedCronJob(nil, &v1beta1.AdvancedCronJob{}),
		"WorkloadSpread":       ValidateWorkloadSpread(nil, &v1beta1.WorkloadSpread{}, WorkloadSpreadContext{Template: &corev1.PodTemplateSpec{}}),
		"PersistentPodState":   ValidatePersistentPodState(nil, &v1beta1.PersistentPodState{}, PersistentPodStateContext{}),
		"ResourceDistribution": ValidateResourceDistribution(nil, &v1beta1.ResourceDistribution{}),
		"PodUnavailableBudget": ValidatePodUnavailableBudget(nil, &policyv1beta1.PodUnavailableBudget{}, nil),
		"EphemeralJob":         ValidateEphemeralJob(nil, &v1alpha1.EphemeralJob{}),
	} {
		if len(list) == 0 {
			t.Errorf("%s: nothing wrong with nothing at all", name)
		}
	}
}
