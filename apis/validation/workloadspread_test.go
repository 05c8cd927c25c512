// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundSpread = `
metadata: {name: web, namespace: default}
spec:
  targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web}
  subsets: [{name: a, maxReplicas: 3}, {name: b}]
`

func newSpread(obj *v1beta1.WorkloadSpread) field.ErrorList {
	return ValidateWorkloadSpread(nil, obj, WorkloadSpreadContext{})
}

func TestValidateWorkloadSpread(t *testing.T) {
	const subset, preferred = "spec.subsets[0].", "spec.subsets[0].preferredNodeSelector"
	runRows(t, soundSpread, newSpread, map[string]row{
		"sound":                            good(),
		"name":                             bad("metadata.name: lower case", "metadata.name: Web"),
		"no target":                        bad("spec.targetRef: name the workload", "spec.targetRef:"),
		"target without apiVersion":        bad("spec.targetRef.apiVersion: name the workload", "spec.targetRef.apiVersion: ''"),
		"target without a kind":            bad("spec.targetRef.kind: name the workload", "spec.targetRef.kind: ''"),
		"target without a name":            bad("spec.targetRef.name: name the workload", "spec.targetRef.name: ''"),
		"target of a broken version":       bad("spec.targetRef.apiVersion: a group and a version", "spec.targetRef.apiVersion: a/b/c"),
		"CloneSet of old":                  good("spec.targetRef.apiVersion: apps.kruise.io/v1alpha1"),
		"CloneSet of another group":        bad("spec.targetRef.apiVersion: must be of group apps.kruise.io", "spec.targetRef.apiVersion: apps/v1"),
		"Deployment":                       good("spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: a}"),
		"ReplicaSet":                       good("spec.targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: a}"),
		"Job":                              good("spec.targetRef: {apiVersion: batch/v1, kind: Job, name: a}"),
		"Job of another group":             bad("spec.targetRef.apiVersion: must be of group batch", "spec.targetRef: {apiVersion: apps/v1, kind: Job, name: a}"),
		"StatefulSet":                      good("spec.targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: a}"),
		"Advanced StatefulSet":             good("spec.targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: a}"),
		"StatefulSet of another group":     bad("spec.targetRef.apiVersion: must be of group apps or apps.kruise.io", "spec.targetRef: {apiVersion: a/v1, kind: StatefulSet, name: a}"),
		"a kind that is not known":         bad("spec.targetRef: an administrator may add it", "spec.targetRef: {apiVersion: a.b/v1, kind: Game, name: a}"),
		"no subsets":                       bad("spec.subsets: at least one subset", "spec.subsets: []"),
		"subset without a name":            bad(subset+"name: name the subset", subset+"name: ''"),
		"subset twice":                     bad("spec.subsets[1].name: Duplicate", "spec.subsets[1].name: a"),
		"any name will do":                 good(subset + "name: Zone A"),
		"no maxReplicas at all":            good(subset + "maxReplicas:"),
		"required":                         good(subset + "requiredNodeSelector: {matchExpressions: [{key: zone, operator: In, values: [a]}]}"),
		"required without values":          bad(subset+"requiredNodeSelector.matchExpressions[0].values: at least one value", subset+"requiredNodeSelector: {matchExpressions: [{key: zone, operator: In}]}"),
		"required with a broken value":     bad(subset+"requiredNodeSelector.matchExpressions[0].values[0]: a valid label", subset+"requiredNodeSelector: {matchExpressions: [{key: zone, operator: In, values: ['a b']}]}"),
		"preferred":                        good(preferred + ": [{weight: 100, preference: {matchExpressions: [{key: a, operator: Exists}]}}]"),
		"preferred with weight 0":          bad(preferred+"[0].weight: between 1 and 100", preferred+": [{weight: 0, preference: {}}]"),
		"preferred with a broken operator": bad(preferred+"[0].preference.matchExpressions[0].operator: supported values", preferred+": [{weight: 1, preference: {matchExpressions: [{key: a, operator: Sideways}]}}]"),
		"toleration":                       good(subset + "tolerations: [{key: a, operator: Exists}]"),
		"toleration, broken":               bad(subset+"tolerations[0].operator: supported values", subset+"tolerations: [{key: a, operator: Sideways}]"),
		"filter":                           good("spec.targetFilter: {selector: {matchLabels: {a: b}}, replicasPathList: [spec.a.0.b]}"),
		"filter, broken":                   bad("spec.targetFilter.selector.matchExpressions[0].operator: not a valid", "spec.targetFilter: {selector: {matchExpressions: [{key: a, operator: Sideways}]}}"),
		"Fixed":                            good("spec.scheduleStrategy.type: Fixed"),
		"Adaptive":                         good("spec.scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 295}}"),
		"type unknown":                     bad("spec.scheduleStrategy.type: supported values", "spec.scheduleStrategy.type: Sideways"),
		"adaptive and not Adaptive":        bad("spec.scheduleStrategy.type: must be Adaptive", "spec.scheduleStrategy: {type: Fixed, adaptive: {}}"),
		"adaptive and no type":             bad("spec.scheduleStrategy.type: must be Adaptive", "spec.scheduleStrategy: {adaptive: {}}"),
		"adaptive, last subset bounded":    bad("spec.subsets[1].maxReplicas: the last subset", "spec.scheduleStrategy: {type: Adaptive, adaptive: {}}", "spec.subsets[1].maxReplicas: 1"),
		"adaptive, one subset bounded":     good("spec.scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 2147483647}}", "spec.subsets: [{name: a, maxReplicas: 1}]"),
		"adaptive, too slow":               bad("spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds: between 0 and 147 seconds with 3 subsets", "spec.scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: 148}}", "spec.subsets: [{name: a}, {name: b}, {name: c}]"),
		"adaptive, below zero":             bad("spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds: between 0 and 295", "spec.scheduleStrategy: {type: Adaptive, adaptive: {rescheduleCriticalSeconds: -1}}"),
	})
}

func TestWorkloadSpreadLimits(t *testing.T) {
	const first, last = "spec.subsets[0].maxReplicas: ", "spec.subsets[1].maxReplicas: "
	const stateful = "spec.targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: a}"
	runRows(t, soundSpread, newSpread, map[string]row{
		"numbers":                  good(first+"0", last+"7"),
		"percentages":              good(first+"20%", last+"80%"),
		"percentages and the rest": good(first+"20%", last),
		"two forms":                bad("spec.subsets[1].maxReplicas: one form", first+"20%", last+"3"),
		"below zero":               bad("spec.subsets[0].maxReplicas: 0 or more", first+"-1"),
		"below 0%":                 {edits: []string{first + "-1%"}, want: []string{"spec.subsets[0].maxReplicas: 0% or more"}},
		"parts of a percent":       bad("spec.subsets[0].maxReplicas: whole percentage", first+"50.2%"),
		"a number in quotes":       bad("spec.subsets[0].maxReplicas: number (5) or a percentage", first+`"5"`),
		"more than all":            bad("spec.subsets[1].maxReplicas: more than 100%", first+"60%", last+"50%"),
		"less than all":            bad("spec.subsets[0].maxReplicas: or the last subset", first+"20%", last+"50%"),
		"numbers need not add up":  good(first+"1", last+"1"),
		"StatefulSet: numbers":     good(stateful, first+"3"),
		"StatefulSet: percentages": bad("spec.subsets[0].maxReplicas: must be a number for a StatefulSet", stateful, first+"20%"),
	})
}

func TestWorkloadSpreadAmongOthers(t *testing.T) {
	allowed := []schema.GroupKind{{Group: "a.b", Kind: "Game"}}
	var template corev1.PodTemplateSpec
	if err := yaml.Unmarshal([]byte(`{metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: a, volumeMounts: [{name: data, mountPath: /d}]}]}}`), &template); err != nil {
		t.Fatal(err)
	}
	claims := []corev1.PersistentVolumeClaim{{}}
	claims[0].Name = "data"
	context := WorkloadSpreadContext{
		Allowed: allowed, Template: &template, Claims: claims,
		Others: []v1beta1.WorkloadSpread{
			*edited[v1beta1.WorkloadSpread](t, soundSpread),
			*edited[v1beta1.WorkloadSpread](t, soundSpread, "metadata.name: other", "spec.targetRef.name: taken"),
			*edited[v1beta1.WorkloadSpread](t, soundSpread, "metadata.name: elsewhere", "metadata.namespace: other", "spec.targetRef.name: free"),
			{},
		},
	}
	validate := func(obj *v1beta1.WorkloadSpread) field.ErrorList { return ValidateWorkloadSpread(nil, obj, context) }
	runRows(t, soundSpread, validate, map[string]row{
		"alone with its target":              good(),
		"a kind that was allowed":            good("spec.targetRef: {apiVersion: a.b/v7, kind: Game, name: a}"),
		"a kind of another group":            bad("spec.targetRef: an administrator may add it", "spec.targetRef: {apiVersion: c.d/v7, kind: Game, name: a}"),
		"a target that is taken":             bad("spec.targetRef: by WorkloadSpread other already", "spec.targetRef.name: taken"),
		"by whatever version":                bad("spec.targetRef: by WorkloadSpread other already", "spec.targetRef.name: taken", "spec.targetRef.apiVersion: apps.kruise.io/v1alpha1"),
		"a target of another namespace":      good("spec.targetRef.name: free"),
		"patch":                              good("spec.subsets[0].patch: {metadata: {labels: {c: d}}, spec: {containers: [{name: main, image: b}]}}"),
		"patch that leaves no pod":           bad("spec.subsets[0].patch: must leave a pod", "spec.subsets[0].patch: {spec: {containers: [{name: main, image: 7}]}}"),
		"patch that is none":                 bad("spec.subsets[0].patch: strategic merge patch", "spec.subsets[0].patch: {spec: {containers: [7]}}"),
		"patch that breaks the pod":          bad("spec.subsets[0].patch.spec.containers[0].image: which image", "spec.subsets[0].patch: {spec: {containers: [{name: aa}]}}"),
		"patch that mounts what is not here": bad("spec.subsets[0].patch.spec.containers[0].volumeMounts[0].name: Not found", "spec.subsets[0].patch: {spec: {containers: [{name: main, volumeMounts: [{name: none, mountPath: /e}]}]}}"),
	})
	runRows(t, soundSpread, newSpread, map[string]row{
		"patch, no such target": good("spec.subsets[0].patch: {spec: {containers: [{name: aa}]}}"),
	})
}

func TestValidateWorkloadSpreadUpdate(t *testing.T) {
	cases := map[string]struct{ both, edits, want []string }{
		"subsets":                     {edits: []string{"spec.subsets: [{name: c}]"}},
		"version of the target":       {edits: []string{"spec.targetRef.apiVersion: apps.kruise.io/v1alpha1"}},
		"target":                      {edits: []string{"spec.targetRef.name: other"}, want: []string{"spec.targetRef: only the version"}},
		"a broken object, untouched":  {both: []string{`spec.subsets[0].maxReplicas: "5"`}, edits: []string{"metadata.labels: {a: b}"}},
		"a broken object, put right":  {both: nil, edits: []string{"spec.subsets[0].maxReplicas: 5"}},
		"an object without a target":  {both: []string{"spec.targetRef:"}, edits: []string{"metadata.labels: {a: b}"}},
		"a target that gets another ": {edits: []string{"spec.targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}"}, want: []string{"spec.targetRef: only the version"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.WorkloadSpread](t, soundSpread, c.both...)
			obj := edited[v1beta1.WorkloadSpread](t, soundSpread, append(append([]string{}, c.both...), c.edits...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			compare(t, ValidateWorkloadSpread(old, obj, WorkloadSpreadContext{}), c.want)
		})
	}
}

func TestValidateOldWorkloadSpread(t *testing.T) {
	validate := func(obj *v1alpha1.WorkloadSpread) field.ErrorList {
		return ValidateOldWorkloadSpread(nil, obj, WorkloadSpreadContext{})
	}
	runRows(t, soundSpread, validate, map[string]row{
		"sound": good(),
		"fields are named as they are": {edits: []string{"spec.subsets[0].requiredNodeSelectorTerm: {matchExpressions: [{key: zone, operator: In}]}", "spec.subsets[0].preferredNodeSelectorTerms: [{weight: 0, preference: {}}]"},
			want: []string{"spec.subsets[0].requiredNodeSelectorTerm.matchExpressions[0].values: at least one", "spec.subsets[0].preferredNodeSelectorTerms[0].weight: between 1 and 100"}},
	})
	old := edited[v1alpha1.WorkloadSpread](t, soundSpread, "metadata.resourceVersion: '1'")
	obj := edited[v1alpha1.WorkloadSpread](t, soundSpread, "metadata.resourceVersion: '1'", "spec.targetRef.name: other")
	compare(t, ValidateOldWorkloadSpread(old, obj, WorkloadSpreadContext{}), []string{"spec.targetRef: only the version"})
}

func TestValidateWorkloadSpreadOnHub(t *testing.T) {
	const term = "spec.subsets[0].requiredNodeSelector"
	fields := "{matchFields: [{key: metadata.name, operator: In, values: [node]}]}"
	compared := "{matchExpressions: [{key: topology.kubernetes.io/zone, operator: Gt, values: ['1']}]}"
	validate := func(obj *v1beta1.WorkloadSpread) field.ErrorList { return ValidateWorkloadSpreadOnHub(nil, obj) }
	runRows(t, soundSpread, validate, map[string]row{
		"sound":             good(),
		"nodes by name":     bad(term+".matchFields: use matchExpressions", term+": "+fields),
		"zones compared":    bad(term+".matchExpressions[0].operator: use In, NotIn, Exists or DoesNotExist", term+": "+compared),
		"preferred by name": bad("spec.subsets[0].preferredNodeSelector[0].preference.matchFields: use", "spec.subsets[0].preferredNodeSelector: [{weight: 1, preference: "+fields+"}]"),
		"cores compared":    good(term + ": {matchExpressions: [{key: cores, operator: Gt, values: ['4']}]}"),
	})
	older := func(obj *v1alpha1.WorkloadSpread) field.ErrorList { return ValidateOldWorkloadSpreadOnHub(nil, obj) }
	runRows(t, soundSpread, older, map[string]row{
		"as it is named there": bad(term+"Term.matchFields: use matchExpressions", term+"Term: "+fields),
	})
	stored := edited[v1beta1.WorkloadSpread](t, soundSpread, term+": "+fields)
	if got := ValidateWorkloadSpreadOnHub(stored, edited[v1beta1.WorkloadSpread](t, soundSpread, term+": "+fields, "metadata.labels: {a: b}")); got != nil {
		t.Errorf("an old mistake stops an update: %v", got)
	}
}
