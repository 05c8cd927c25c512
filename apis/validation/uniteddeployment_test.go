// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const soundUnitedDeployment = `
metadata: {name: web, namespace: default}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    deploymentTemplate:
      metadata: {labels: {app: web}}
      spec:
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: main, image: "web:1"}]}
  topology:
    subsets:
    - name: a
      nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}
    - name: b
`

// Edits that change the kind of template.
const (
	noDeployment = "spec.template.deploymentTemplate:"
	podSpec      = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: 'web:1'}]}}"
	statefulSet  = "spec.template.statefulSetTemplate: {metadata: {labels: {app: web}}, spec: {serviceName: web, " + podSpec + "}}"
	advancedSet  = "spec.template.advancedStatefulSetTemplate: {metadata: {labels: {app: web}}, spec: {serviceName: web, " + podSpec + "}}"
	cloneSetBare = "spec.template.cloneSetTemplate: {spec: {}}"
)

func newUnitedDeployment(obj *v1beta1.UnitedDeployment) field.ErrorList {
	return ValidateUnitedDeployment(nil, obj)
}

func TestValidateUnitedDeployment(t *testing.T) {
	const path = "spec.template."
	runRows(t, soundUnitedDeployment, newUnitedDeployment, map[string]row{
		"sound":                                good(),
		"name":                                 bad("metadata.name: lower case", "metadata.name: Web"),
		"negative replicas":                    bad("spec.replicas: 0 or more", "spec.replicas: -1"),
		"no selector":                          bad("spec.selector: which pods", "spec.selector:"),
		"empty selector":                       bad("spec.selector: every pod", "spec.selector: {}"),
		"no template":                          bad("spec.template: set one of", noDeployment),
		"two templates":                        bad("spec.template: set only one of", cloneSetBare),
		"StatefulSet":                          good(noDeployment, statefulSet),
		"Advanced StatefulSet":                 good(noDeployment, advancedSet),
		"CloneSet, unchecked":                  good(noDeployment, cloneSetBare),
		"Deployment's labels":                  bad(path+"deploymentTemplate.metadata.labels: must match spec.selector", path+"deploymentTemplate.metadata.labels: {app: other}"),
		"StatefulSet's labels":                 bad(path+"statefulSetTemplate.metadata.labels: must match spec.selector", noDeployment, statefulSet, path+"statefulSetTemplate.metadata.labels: {}"),
		"Advanced StatefulSet's labels":        bad(path+"advancedStatefulSetTemplate.metadata.labels: must match spec.selector", noDeployment, advancedSet, path+"advancedStatefulSetTemplate.metadata.labels: {}"),
		"Deployment's pods' labels":            bad(path+"deploymentTemplate.spec.template.metadata.labels: must match spec.selector", path+"deploymentTemplate.spec.template.metadata.labels: {app: other}"),
		"StatefulSet's pods' labels":           bad(path+"statefulSetTemplate.spec.template.metadata.labels: must match spec.selector", noDeployment, statefulSet, path+"statefulSetTemplate.spec.template.metadata.labels: {}"),
		"Advanced StatefulSet's pods' labels":  bad(path+"advancedStatefulSetTemplate.spec.template.metadata.labels: must match spec.selector", noDeployment, advancedSet, path+"advancedStatefulSetTemplate.spec.template.metadata.labels: {}"),
		"Deployment's replicas":                bad(path+"deploymentTemplate.spec.replicas: set by the topology", path+"deploymentTemplate.spec.replicas: 1"),
		"StatefulSet's replicas":               bad(path+"statefulSetTemplate.spec.replicas: set by the topology", noDeployment, statefulSet, path+"statefulSetTemplate.spec.replicas: 0"),
		"Advanced StatefulSet's replicas":      bad(path+"advancedStatefulSetTemplate.spec.replicas: set by the topology", noDeployment, advancedSet, path+"advancedStatefulSetTemplate.spec.replicas: 1"),
		"StatefulSet's partition":              bad(path+"statefulSetTemplate.spec.updateStrategy.rollingUpdate.partition: manualUpdate.partitions", noDeployment, statefulSet, path+"statefulSetTemplate.spec.updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}"),
		"Advanced StatefulSet's partition":     bad(path+"advancedStatefulSetTemplate.spec.updateStrategy.rollingUpdate.partition: manualUpdate.partitions", noDeployment, advancedSet, path+"advancedStatefulSetTemplate.spec.updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}"),
		"StatefulSet OnDelete":                 good(noDeployment, statefulSet, path+"statefulSetTemplate.spec.updateStrategy.type: OnDelete"),
		"StatefulSet OnDelete with more":       bad(path+"statefulSetTemplate.spec.updateStrategy.rollingUpdate: cannot be set with type OnDelete", noDeployment, statefulSet, path+"statefulSetTemplate.spec.updateStrategy: {type: OnDelete, rollingUpdate: {}}"),
		"StatefulSet's strategy":               bad(path+"statefulSetTemplate.spec.updateStrategy.type: supported values", noDeployment, statefulSet, path+"statefulSetTemplate.spec.updateStrategy.type: Surging"),
		"StatefulSet's pod management":         bad(path+"statefulSetTemplate.spec.podManagementPolicy: supported values", noDeployment, statefulSet, path+"statefulSetTemplate.spec.podManagementPolicy: Serial"),
		"StatefulSet's minReadySeconds":        bad(path+"statefulSetTemplate.spec.minReadySeconds: 0 or more", noDeployment, statefulSet, path+"statefulSetTemplate.spec.minReadySeconds: -1"),
		"StatefulSet's first ordinal":          bad(path+"statefulSetTemplate.spec.ordinals.start: 0 or more", noDeployment, statefulSet, path+"statefulSetTemplate.spec.ordinals.start: -1"),
		"StatefulSet's claims kept":            good(noDeployment, statefulSet, path+"statefulSetTemplate.spec.persistentVolumeClaimRetentionPolicy.whenScaled: Delete"),
		"StatefulSet's claims":                 bad(path+"statefulSetTemplate.spec.persistentVolumeClaimRetentionPolicy.whenScaled: supported values", noDeployment, statefulSet, path+"statefulSetTemplate.spec.persistentVolumeClaimRetentionPolicy.whenScaled: Sell"),
		"StatefulSet's claims mounted":         good(noDeployment, statefulSet, path+"statefulSetTemplate.spec.volumeClaimTemplates: [{metadata: {name: d}}]", path+"statefulSetTemplate.spec.template.spec.containers[0].volumeMounts: [{name: d, mountPath: /d}]"),
		"StatefulSet's hostname is set for it": good(noDeployment, statefulSet, path+"statefulSetTemplate.spec.template.spec.hostname: Not_A_Label"),
		"Deployment's pods stop":               bad(path+"deploymentTemplate.spec.template.spec.restartPolicy: supported values", path+"deploymentTemplate.spec.template.spec.restartPolicy: OnFailure"),
		"Deployment's containers":              bad(path+"deploymentTemplate.spec.template.spec.containers[0].image: which image", path+"deploymentTemplate.spec.template.spec.containers[0].image:"),
		"Advanced StatefulSet's containers":    bad(path+"advancedStatefulSetTemplate.spec.template.spec.containers: at least one", noDeployment, advancedSet, path+"advancedStatefulSetTemplate.spec.template.spec.containers: []"),
		"update strategy":                      bad("spec.updateStrategy.type: supported values", "spec.updateStrategy.type: Auto"),
		"partitions":                           good("spec.updateStrategy: {type: Manual, manualUpdate: {partitions: {a: 3}}}"),
		"partition of no subset":               bad("spec.updateStrategy.manualUpdate.partitions[c]: name of a subset", "spec.updateStrategy.manualUpdate.partitions: {a: 3, c: 1}"),
	})
}

func TestValidateSubsets(t *testing.T) {
	const subsets = "spec.topology.subsets"
	numbers := func(list string) string { return subsets + ": [" + list + "]" }
	runRows(t, soundUnitedDeployment, newUnitedDeployment, map[string]row{
		"no subset":                       good(subsets + ": []"),
		"no name":                         bad(subsets+"[1].name: name the subset", subsets+"[1].name: ''"),
		"bad name":                        bad(subsets+"[1].name: lower case", subsets+"[1].name: B"),
		"name twice":                      bad(subsets+"[1].name: Duplicate", subsets+"[1].name: a"),
		"term without values":             bad(subsets+"[0].nodeSelectorTerm.matchExpressions[0].values: at least one", subsets+"[0].nodeSelectorTerm.matchExpressions[0].values: []"),
		"term with values too many":       bad(subsets+"[0].nodeSelectorTerm.matchExpressions[0].values: take no values", subsets+"[0].nodeSelectorTerm.matchExpressions[0].operator: Exists"),
		"term that compares":              good(subsets + "[0].nodeSelectorTerm.matchExpressions[0]: {key: n, operator: Gt, values: ['1']}"),
		"term that compares with two":     bad(subsets+"[0].nodeSelectorTerm.matchExpressions[0].values: exactly one", subsets+"[0].nodeSelectorTerm.matchExpressions[0]: {key: n, operator: Lt, values: ['1', '2']}"),
		"term with an unknown operator":   bad(subsets+"[0].nodeSelectorTerm.matchExpressions[0].operator: supported values", subsets+"[0].nodeSelectorTerm.matchExpressions[0].operator: Like"),
		"term with a bad key":             bad(subsets+"[0].nodeSelectorTerm.matchExpressions[0].key: Invalid value", subsets+"[0].nodeSelectorTerm.matchExpressions[0].key: 'a b'"),
		"term with a value no label has":  good(subsets + "[0].nodeSelectorTerm.matchExpressions[0].values: ['a b']"),
		"term by node name":               good(subsets + "[0].nodeSelectorTerm.matchFields: [{key: metadata.name, operator: In, values: [n]}]"),
		"term by another field":           bad(subsets+"[0].nodeSelectorTerm.matchFields[0].key: supported values", subsets+"[0].nodeSelectorTerm.matchFields: [{key: spec.x, operator: In, values: [n]}]"),
		"tolerations":                     good(subsets + "[0].tolerations: [{key: a, operator: Exists}, {key: b, value: c, effect: NoExecute, tolerationSeconds: 1}]"),
		"toleration of everything":        bad(subsets+"[0].tolerations[0].operator: must be Exists", subsets+"[0].tolerations: [{}]"),
		"toleration with a value":         bad(subsets+"[0].tolerations[0].value: must be empty", subsets+"[0].tolerations: [{key: a, operator: Exists, value: b}]"),
		"toleration for a while":          bad(subsets+"[0].tolerations[0].effect: must be NoExecute", subsets+"[0].tolerations: [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 1}]"),
		"toleration with another effect":  bad(subsets+"[0].tolerations[0].effect: supported values", subsets+"[0].tolerations: [{key: a, operator: Exists, effect: Never}]"),
		"toleration with an odd operator": bad(subsets+"[0].tolerations[0].operator: supported values", subsets+"[0].tolerations: [{key: a, operator: Like}]"),

		"schedule type":            {edits: []string{"spec.topology.scheduleStrategy.type: Elastic"}, want: []string{"spec.topology.scheduleStrategy.type: supported values"}},
		"adaptive":                 good("spec.topology.scheduleStrategy: {type: Adaptive, adaptive: {reserveUnschedulablePods: true}}"),
		"adaptive, fixed replicas": bad(subsets+"[0].replicas: use minReplicas and maxReplicas", "spec.topology.scheduleStrategy.type: Adaptive", subsets+"[0].replicas: 1"),
		"reserve for StatefulSets": bad("spec.topology.scheduleStrategy.adaptive.reserveUnschedulablePods: must be false for StatefulSets",
			noDeployment, statefulSet, "spec.topology.scheduleStrategy: {type: Adaptive, adaptive: {reserveUnschedulablePods: true}}"),
		"reserve for Advanced StatefulSets": bad("spec.topology.scheduleStrategy.adaptive.reserveUnschedulablePods: must be false for StatefulSets",
			noDeployment, advancedSet, "spec.topology.scheduleStrategy: {type: Adaptive, adaptive: {reserveUnschedulablePods: true}}"),
		"reserve without Adaptive": good(noDeployment, statefulSet, "spec.topology.scheduleStrategy: {adaptive: {reserveUnschedulablePods: true}}"),

		"one fixed, one takes the rest": good(numbers("{name: a, replicas: 4}, {name: b}")),
		"all fixed, sum exact":          good(numbers("{name: a, replicas: 4}, {name: b, replicas: 60%}")),
		"half up: 10 by 25% and 75%":    bad(subsets+": add up to 11, more than the 10", numbers("{name: a, replicas: 25%}, {name: b, replicas: 75%}")),
		"all fixed, sum too small":      bad(subsets+": add up to 9, not to the 10", numbers("{name: a, replicas: 4}, {name: b, replicas: 5}")),
		"fixed beyond the total":        bad(subsets+": add up to 11, more than the 10", numbers("{name: a, replicas: 11}, {name: b}")),
		"all fixed, no total":           good("spec.replicas:", numbers("{name: a, replicas: 4}, {name: b, replicas: 5}")),
		"some fixed, no total":          bad(subsets+": set spec.replicas, or replicas in every subset", "spec.replicas:", numbers("{name: a, replicas: 4}, {name: b}")),
		"percentage of no total":        bad(subsets+"[0].replicas: set spec.replicas", "spec.replicas:", numbers("{name: a, replicas: 4%}, {name: b, replicas: 1}")),
		"negative":                      bad(subsets+"[0].replicas: 0 or more", numbers("{name: a, replicas: -1}, {name: b}")),
		"above 100%":                    bad(subsets+"[0].replicas: between 0% and 100%", numbers("{name: a, replicas: 101%}, {name: b}")),
		"fraction of a percent":         bad(subsets+"[0].replicas: number (5) or a percentage", numbers("{name: a, replicas: 1.5%}, {name: b}")),
		"number in quotes":              bad(subsets+"[0].maxReplicas: number (5) or a percentage", numbers("{name: a, maxReplicas: '5'}, {name: b}")),
		"bounds":                        good(numbers("{name: a, minReplicas: 1, maxReplicas: 50%}, {name: b, minReplicas: 0}")),
		"minReplicas > maxReplicas":     bad(subsets+"[0].minReplicas: must not exceed maxReplicas (6 > 5)", numbers("{name: a, minReplicas: 6, maxReplicas: 50%}, {name: b}")),
		"every subset capped":           bad(subsets+": leave maxReplicas out of at least one", numbers("{name: a, maxReplicas: 5}, {name: b, maxReplicas: 50}")),
		"bounds without a total":        bad("spec.replicas: share out spec.replicas", "spec.replicas:", numbers("{name: a, minReplicas: 1}, {name: b}")),
		"both kinds of numbers":         bad(subsets+": either replicas or minReplicas and maxReplicas", numbers("{name: a, replicas: 1}, {name: b, minReplicas: 1}")),
	})
}

func TestValidateUnitedDeploymentUpdate(t *testing.T) {
	const set = "spec.template.statefulSetTemplate.spec."
	cases := map[string]struct {
		both, old, obj []string
		want           []string
	}{
		"numbers, template, selector":  {obj: []string{"spec.replicas: 3", "spec.template.deploymentTemplate.spec.minReadySeconds: 3"}},
		"another kind of template":     {obj: []string{noDeployment, statefulSet}},
		"subsets come and go":          {obj: []string{"spec.topology.subsets: [{name: c}]"}},
		"a subset's place":             {obj: []string{"spec.topology.subsets[0].nodeSelectorTerm:"}, want: []string{"spec.topology.subsets[0].nodeSelectorTerm: cannot be changed"}},
		"a selector that lets go":      {obj: []string{"spec.selector.matchLabels: {app: other}", "spec.template.deploymentTemplate.spec.template.metadata.labels: {app: other}"}, want: []string{"spec.selector: must match the labels", "spec.template.deploymentTemplate.metadata.labels: must match"}},
		"a subset's place in a share":  {both: []string{"metadata.labels: {fleet.kruise.io/slice: s}"}, obj: []string{"spec.topology.subsets[0].nodeSelectorTerm:"}},
		"a subset's tolerations":       {obj: []string{"spec.topology.subsets[1].tolerations: [{operator: Exists}]"}, want: []string{"spec.topology.subsets[1].tolerations: cannot be changed"}},
		"subsets in another order":     {obj: []string{"spec.topology.subsets: [{name: b}, {name: a, nodeSelectorTerm: {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}}]"}},
		"StatefulSet: what can change": {both: []string{noDeployment, statefulSet}, obj: []string{set + "minReadySeconds: 3", set + "ordinals.start: 1", set + "updateStrategy.type: OnDelete", set + "template.spec.containers[0].image: b"}},
		"StatefulSet: what cannot":     {both: []string{noDeployment, statefulSet}, obj: []string{set + "serviceName: other"}, want: []string{"spec.template.statefulSetTemplate.spec: only template"}},
		"Advanced StatefulSet: what can change": {both: []string{noDeployment, advancedSet},
			obj: []string{"spec.template.advancedStatefulSetTemplate.spec.updateStrategy: {type: OnDelete}"}},
		"Advanced StatefulSet: what cannot": {both: []string{noDeployment, advancedSet},
			obj:  []string{"spec.template.advancedStatefulSetTemplate.spec.serviceName: other"},
			want: []string{"spec.template.advancedStatefulSetTemplate.spec: only template and updateStrategy"}},
		"scaled below the fixed numbers through the scale subresource, then labelled": {
			both: []string{"spec.topology.subsets: [{name: a, replicas: 3}, {name: b, replicas: 3}]", "spec.replicas: 4"},
			obj:  []string{"metadata.labels: {a: b}"}},
		"… and then the numbers touched": {
			both: []string{"spec.topology.subsets: [{name: a, replicas: 3}, {name: b, replicas: 3}]", "spec.replicas: 4"},
			obj:  []string{"spec.topology.subsets[1].replicas: 2"}, want: []string{"spec.topology.subsets: add up to 5, more than the 4"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := edited[v1beta1.UnitedDeployment](t, soundUnitedDeployment, append(c.both[:len(c.both):len(c.both)], c.old...)...)
			obj := edited[v1beta1.UnitedDeployment](t, soundUnitedDeployment, append(c.both[:len(c.both):len(c.both)], c.obj...)...)
			old.ResourceVersion, obj.ResourceVersion = "1", "1"
			before := obj.DeepCopy()
			compare(t, ValidateUnitedDeployment(old, obj), c.want)
			if !equalObjects(before, obj) {
				t.Error("validation changed the object")
			}
		})
	}
}

func TestValidateUnitedDeploymentOnHub(t *testing.T) {
	const term = "spec.topology.subsets[0].nodeSelectorTerm."
	validate := func(obj *v1beta1.UnitedDeployment) field.ErrorList { return ValidateUnitedDeploymentOnHub(nil, obj) }
	fields := term + "matchFields: [{key: metadata.name, operator: In, values: [n]}]"
	runRows(t, soundUnitedDeployment, validate, map[string]row{
		"zones":                   good(),
		"nodes by name":           bad(term+"matchFields: use matchExpressions", fields),
		"cluster compared":        bad(term+"matchExpressions[0].operator: use In, NotIn, Exists or DoesNotExist", term+"matchExpressions[0]: {key: fleet.kruise.io/cluster, operator: Gt, values: ['1']}"),
		"zone compared":           bad(term+"matchExpressions[0].operator: topology.kubernetes.io/zone", term+"matchExpressions[0].operator: Lt"),
		"cluster excluded":        good(term + "matchExpressions[0]: {key: fleet.kruise.io/cluster, operator: NotIn, values: [c]}"),
		"members' own keys do it": good(term + "matchExpressions[0]: {key: cores, operator: Gt, values: ['4']}"),
	})
	stored := edited[v1beta1.UnitedDeployment](t, soundUnitedDeployment, fields)
	if got := ValidateUnitedDeploymentOnHub(stored, edited[v1beta1.UnitedDeployment](t, soundUnitedDeployment, fields, "spec.replicas: 1")); got != nil {
		t.Errorf("an old mistake stops an update: %v", got)
	}
}
