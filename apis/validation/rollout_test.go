// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

const soundRollout = `
metadata: {name: web, namespace: default}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    canary:
      steps: [{replicas: 20%}, {replicas: 100%}]
`

func TestValidateRollout(t *testing.T) {
	const (
		canary    = "spec.strategy.canary."
		steps     = canary + "steps: "
		ref       = "spec.workloadRef: "
		blueGreen = "spec.strategy: {blueGreen: {steps: "
		traffic   = canary + "trafficRoutings"
	)
	validate := func(obj *v1beta1.Rollout) field.ErrorList { return ValidateRollout(nil, obj, RolloutFacts{}) }
	runRows(t, soundRollout, validate, map[string]row{
		"sound":                           good(),
		"neither strategy":                bad("spec.strategy: exactly one of canary and blueGreen", "spec.strategy: {}"),
		"both strategies":                 bad("spec.strategy: exactly one of canary and blueGreen", "spec.strategy.blueGreen: {steps: [{replicas: 1}]}"),
		"CloneSet":                        good(ref + "{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: a}"),
		"old StatefulSet":                 good(ref + "{apiVersion: apps.kruise.io/v1alpha1, kind: StatefulSet, name: a}"),
		"native DaemonSet":                good(ref + "{apiVersion: apps/v1, kind: DaemonSet, name: a}"),
		"Job":                             bad("spec.workloadRef: cannot be released", ref+"{apiVersion: batch/v1, kind: Job, name: a}"),
		"CloneSet of apps":                bad("spec.workloadRef: cannot be released", ref+"{apiVersion: apps/v1, kind: CloneSet, name: a}"),
		"no name":                         bad("spec.workloadRef.name: in full", "spec.workloadRef.name: ''"),
		"no steps":                        bad(canary+"steps: at least one step", steps+"[]"),
		"no replicas":                     bad(canary+"steps[0].replicas: how many pods", steps+"[{}]"),
		"replicas 0":                      bad(canary+"steps[0].replicas: more than 0", steps+"[{replicas: 0}]"),
		"replicas 0%":                     bad(canary+"steps[0].replicas: more than 0%", steps+"[{replicas: 0%}]"),
		"replicas 101%":                   bad(canary+"steps[0].replicas: at most 100%", steps+"[{replicas: 101%}]"),
		"replicas 1.5%":                   bad(canary+"steps[0].replicas: whole percentage", steps+"[{replicas: 1.5%}]"),
		"replicas in quotes":              bad(canary+"steps[0].replicas: number (5)", steps+`[{replicas: "5"}]`),
		"replicas 200":                    good(steps + "[{replicas: 200}]"),
		"falling":                         bad(canary+"steps[1].replicas: not be less", steps+"[{replicas: 20%}, {replicas: 10%}]"),
		"falling numbers":                 bad(canary+"steps[1].replicas: not be less", steps+"[{replicas: 5}, {replicas: 4}]"),
		"percent, then number":            good(steps + "[{replicas: 20%}, {replicas: 5}]"),
		"traffic":                         good(steps + "[{replicas: 20%, traffic: 100%}]"),
		"traffic 0%":                      bad(canary+"steps[0].traffic: more than 0%", steps+"[{replicas: 20%, traffic: 0%}]"),
		"traffic 101%":                    bad(canary+"steps[0].traffic: at most 100%", steps+"[{replicas: 20%, traffic: 101%}]"),
		"traffic 10":                      bad(canary+"steps[0].traffic: number (5)", steps+`[{replicas: 20%, traffic: "10"}]`),
		"traffic 5.5%":                    bad(canary+"steps[0].traffic: whole percentage", steps+"[{replicas: 20%, traffic: 5.5%}]"),
		"traffic abc":                     bad(canary+"steps[0].traffic: number (5)", steps+"[{replicas: 20%, traffic: abc}]"),
		"traffic falls":                   good(steps + "[{replicas: 20%, traffic: 20%}, {replicas: 20%, traffic: 10%}]"),
		"pause":                           good(steps + "[{replicas: 20%, pause: {duration: 0}}]"),
		"pause below zero":                bad(canary+"steps[0].pause.duration: 0 or more", steps+"[{replicas: 20%, pause: {duration: -1}}]"),
		"too many with traffic":           bad(canary+"steps[0].replicas: at most 50% in a step with traffic", steps+"[{replicas: 60%, traffic: 10%}]"),
		"too many with matches":           bad(canary+"steps[0].replicas: at most 50% in a step with traffic", steps+"[{replicas: 60%, matches: [{headers: [{name: a, value: b}]}]}]"),
		"half with traffic":               good(steps + "[{replicas: 50%, traffic: 10%}]"),
		"a number with traffic":           good(steps + "[{replicas: 60, traffic: 10%}]"),
		"extra workload":                  good(steps+"[{replicas: 60%, traffic: 10%}]", canary+"enableExtraWorkloadForCanary: true"),
		"blue-green":                      good(blueGreen + "[{replicas: 60%, traffic: 0%}]}}"),
		"blue-green CloneSet":             good(blueGreen+"[{replicas: 60%}]}}", ref+"{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: a}"),
		"blue-green StatefulSet":          bad("spec.strategy.blueGreen: only a Deployment or a CloneSet", blueGreen+"[{replicas: 60%}]}}", ref+"{apiVersion: apps/v1, kind: StatefulSet, name: a}"),
		"blue-green steps":                bad("spec.strategy.blueGreen.steps[0].replicas: how many", blueGreen+"[{}]}}"),
		"ingress":                         good(traffic + ": [{service: s, ingress: {name: i}}]"),
		"gateway and others":              good(traffic + ": [{service: s, gracePeriodSeconds: 0, gateway: {httpRouteName: r}, customNetworkRefs: [{apiVersion: a/v1, kind: B, name: c}]}]"),
		"two routings":                    bad(traffic+": Too many", traffic+": [{service: s, ingress: {name: i}}, {service: t, ingress: {name: i}}]"),
		"no service":                      bad(traffic+"[0].service: stable Service", traffic+": [{service: '', ingress: {name: i}}]"),
		"no provider":                     bad(traffic+"[0]: set ingress, gateway or customNetworkRefs", traffic+": [{service: s}]"),
		"grace below zero":                bad(traffic+"[0].gracePeriodSeconds: 0 or more", traffic+": [{service: s, gracePeriodSeconds: -1, ingress: {name: i}}]"),
		"no ingress name":                 bad(traffic+"[0].ingress.name: name the Ingress", traffic+": [{service: s, ingress: {name: ''}}]"),
		"no route name":                   bad(traffic+"[0].gateway.httpRouteName: name the HTTPRoute", traffic+": [{service: s, gateway: {}}]"),
		"half a reference":                bad(traffic+"[0].customNetworkRefs[0].kind: in full", traffic+": [{service: s, customNetworkRefs: [{apiVersion: a/v1, kind: '', name: c}]}]"),
		"Advanced DaemonSet with traffic": bad(traffic+": Advanced DaemonSet", traffic+": [{service: s, ingress: {name: i}}]", ref+"{apiVersion: apps.kruise.io/v1beta1, kind: DaemonSet, name: a}"),
		"Advanced DaemonSet":              good(ref + "{apiVersion: apps.kruise.io/v1beta1, kind: DaemonSet, name: a}"),
	})
	facts := RolloutFacts{AnyWorkload: true, PartitionPercentLimit: 80}
	runRows(t, soundRollout, func(obj *v1beta1.Rollout) field.ErrorList { return ValidateRollout(nil, obj, facts) }, map[string]row{
		"any workload":  good(ref + "{apiVersion: batch/v1, kind: Job, name: a}"),
		"another limit": good(steps + "[{replicas: 80%, traffic: 10%}]"),
		"above it":      bad(canary+"steps[0].replicas: at most 80%", steps+"[{replicas: 81%, traffic: 10%}]"),
	})
	others := RolloutFacts{Others: []v1beta1.Rollout{*edited[v1beta1.Rollout](t, soundRollout, "metadata.name: other"), *edited[v1beta1.Rollout](t, soundRollout)}}
	runRows(t, soundRollout, func(obj *v1beta1.Rollout) field.ErrorList { return ValidateRollout(nil, obj, others) }, map[string]row{
		"taken":                     bad("spec.workloadRef: is released by Rollout other already"),
		"taken, by another version": bad("spec.workloadRef: is released by Rollout other already", "spec.workloadRef.apiVersion: apps/v1beta2"),
		"another workload":          good("spec.workloadRef.name: db"),
	})
}

func TestValidateRolloutUpdate(t *testing.T) {
	const canary = "spec.strategy.canary."
	changes := map[string]row{
		"replicas of a step": good(canary+"steps[0].replicas: 30%", "spec.strategy.paused: true"),
		"workload":           bad("spec.workloadRef: cannot be changed while a release is under way", "spec.workloadRef.name: db"),
		"routings":           bad(canary+"trafficRoutings: cannot be changed", canary+"trafficRoutings: [{service: s, ingress: {name: i}}]"),
		"style":              bad("spec.strategy: the rolling style cannot be changed", canary+"enableExtraWorkloadForCanary: true"),
		"strategy":           bad("spec.strategy: the rolling style cannot be changed", "spec.strategy: {blueGreen: {steps: [{replicas: 1}]}}"),
		"number of steps":    bad(canary+"steps: the number of steps cannot be changed", canary+"steps[2]: {replicas: 100%}"),
	}
	for _, phase := range []v1beta1.RolloutPhase{v1beta1.RolloutPhaseProgressing, v1beta1.RolloutPhaseTerminating, v1beta1.RolloutPhaseDisabling} {
		old := edited[v1beta1.Rollout](t, soundRollout)
		old.Status.Phase = phase
		runRows(t, soundRollout, func(obj *v1beta1.Rollout) field.ErrorList { return ValidateRollout(old, obj, RolloutFacts{}) }, changes)
	}
	for _, phase := range []v1beta1.RolloutPhase{"", v1beta1.RolloutPhaseHealthy, v1beta1.RolloutPhaseDisabled} {
		old := edited[v1beta1.Rollout](t, soundRollout)
		old.Status.Phase = phase
		for _, change := range changes {
			compare(t, ValidateRollout(old, edited[v1beta1.Rollout](t, soundRollout, change.edits...), RolloutFacts{}), nil)
		}
	}
	broken := edited[v1beta1.Rollout](t, soundRollout, canary+"steps: []")
	compare(t, ValidateRollout(broken, broken, RolloutFacts{}), nil)
}

func TestValidateOldRollout(t *testing.T) {
	const base = `
metadata: {name: web, namespace: default, annotations: {rollouts.kruise.io/rolling-style: partition}}
spec:
  objectRef: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
  strategy: {canary: {steps: [{weight: 20}, {replicas: 100%}]}}
`
	const (
		style = "metadata.annotations: {rollouts.kruise.io/rolling-style: "
		steps = "spec.strategy.canary.steps: "
	)
	validate := func(obj *v1alpha1.Rollout) field.ErrorList { return ValidateOldRollout(nil, obj, RolloutFacts{}) }
	runRows(t, base, validate, map[string]row{
		"sound":                                 good(),
		"no canary":                             bad("spec.strategy: exactly one", "spec.strategy: {}"),
		"blue-green, read as v1alpha1":          good("spec.strategy: {}", `metadata.annotations: {rollouts.kruise.io/v1beta1-preserved: '{"base":{"spec":{"strategy":{}}},"full":{"spec":{"strategy":{"blueGreen":{"steps":[{"replicas":1}]}}}}}'}`),
		"two strategies at once, by annotation": bad("spec.strategy: exactly one", `metadata.annotations: {rollouts.kruise.io/v1beta1-preserved: '{"base":{"spec":{"strategy":{}}},"full":{"spec":{"strategy":{"blueGreen":{"steps":[{"replicas":1}]}}}}}'}`),
		"no workload":                           {edits: []string{"spec.objectRef: {}"}, want: []string{"spec.workloadRef.apiVersion: in full", "spec.workloadRef.kind: in full", "spec.workloadRef.name: in full"}},
		"style":                                 good(style + "Canary}"),
		"style unknown":                         bad("metadata.annotations[rollouts.kruise.io/rolling-style]: supported values", style+"bluegreen}"),
		"no style":                              good("metadata.annotations:", steps+"[{weight: 60}]"),
		"neither":                               bad("spec.strategy.canary.steps[0].replicas: how many pods", steps+"[{}]"),
		"weight 0 alone":                        bad("spec.strategy.canary.steps[0].replicas: more than 0%", steps+"[{weight: 0}]"),
		"weight 101 alone":                      {edits: []string{steps + "[{weight: 101}]"}, want: []string{"spec.strategy.canary.steps[0].replicas: at most 100%", "spec.strategy.canary.steps[0].traffic: at most 100%"}},
		"weight 0":                              good(steps + "[{weight: 0, replicas: 1}]"),
		"weight above the limit":                bad("spec.strategy.canary.steps[0].replicas: at most 50%", steps+"[{weight: 60}]"),
		"weight falls":                          bad("spec.strategy.canary.steps[1].weight: not be less", "spec.strategy.canary.trafficRoutings: [{service: s, ingress: {name: i}}]", steps+"[{weight: 20, replicas: 1}, {weight: 10, replicas: 2}]"),
		"weight falls, no traffic":              good(steps + "[{weight: 20, replicas: 1}, {weight: 10, replicas: 2}]"),
		"weights as replicas fall":              bad("spec.strategy.canary.steps[1].replicas: not be less", steps+"[{weight: 20}, {weight: 10}]"),
	})
	old := edited[v1alpha1.Rollout](t, base)
	old.Status.Phase = v1beta1.RolloutPhaseProgressing
	runRows(t, base, func(obj *v1alpha1.Rollout) field.ErrorList { return ValidateOldRollout(old, obj, RolloutFacts{}) }, map[string]row{
		"nothing":         good(),
		"style":           bad("spec.strategy: the rolling style", style+"canary}"),
		"number of steps": bad("spec.strategy.canary.steps: the number of steps", steps+"[{weight: 20}]"),
		"workload":        bad("spec.workloadRef: cannot be changed", "spec.objectRef.workloadRef.name: db"),
	})
}

func TestRolloutWarnings(t *testing.T) {
	const canary = "spec.strategy.canary."
	const ingress = canary + "trafficRoutings: [{service: s, ingress: {name: i"
	cases := map[string]struct {
		edits, want []string
	}{
		"nothing":   {},
		"one match": {edits: []string{ingress + "}}]", canary + "steps: [{replicas: 1, matches: [{headers: [{name: a, value: b}]}]}]"}},
		"two matches": {edits: []string{ingress + "}}]", canary + "steps: [{replicas: 1, matches: [{headers: [{name: a, value: b}]}, {headers: [{name: a, value: c}]}]}]"},
			want: []string{"spec.strategy.canary.steps[0].matches: an Ingress can have one match: the last one counts"}},
		"two headers": {edits: []string{ingress + "}}]", canary + "steps: [{replicas: 1, matches: [{headers: [{name: a, value: b}, {name: c, value: d}]}]}]"},
			want: []string{"spec.strategy.canary.steps[0].matches[0].headers: an Ingress can match one header: the first one counts"}},
		"path": {edits: []string{ingress + "}}]", canary + "steps: [{replicas: 1, matches: [{path: {value: /a}}]}]"},
			want: []string{"spec.strategy.canary.steps[0].matches[0]: an Ingress cannot match paths or query parameters: they are ignored"}},
		"query, mse":    {edits: []string{ingress + ", classType: mse}}]", canary + "steps: [{replicas: 1, matches: [{queryParams: [{name: a, value: b}]}]}]"}},
		"path, gateway": {edits: []string{canary + "trafficRoutings: [{service: s, gateway: {httpRouteName: r}}]", canary + "steps: [{replicas: 1, matches: [{path: {value: /a}}]}]"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, RolloutWarnings(edited[v1beta1.Rollout](t, soundRollout, c.edits...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestValidateTrafficRouting(t *testing.T) {
	const base = `{metadata: {name: a}, spec: {objectRef: [{service: s, ingress: {name: i}}], strategy: {weight: 20}}}`
	validate := func(obj *v1alpha1.TrafficRouting) field.ErrorList { return ValidateTrafficRouting(nil, obj) }
	runRows(t, base, validate, map[string]row{
		"sound":       good(),
		"nothing":     bad("spec.objectRef: whose traffic", "spec.objectRef: []"),
		"no provider": bad("spec.objectRef[0]: set ingress", "spec.objectRef: [{service: s}]"),
		"weight":      bad("spec.strategy.weight: between 0 and 100", "spec.strategy.weight: 101"),
		"several":     good("spec.objectRef[1]: {service: t, gateway: {httpRouteName: r}}"),
	})
	broken := edited[v1alpha1.TrafficRouting](t, base, "spec.objectRef: []")
	compare(t, ValidateTrafficRouting(broken, broken), nil)
}

func TestValidateBatchRelease(t *testing.T) {
	const base = `{metadata: {name: a}, spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: a}, releasePlan: {batches: [{canaryReplicas: 1}]}}}`
	validate := func(obj *v1beta1.BatchRelease) field.ErrorList { return ValidateBatchRelease(nil, obj) }
	runRows(t, base, validate, map[string]row{
		"sound":     good(),
		"replicas":  bad("spec.releasePlan.batches[0].canaryReplicas: number (5)", "spec.releasePlan.batches: [{canaryReplicas: many}]"),
		"partition": bad("spec.releasePlan.batchPartition: 0 or more", "spec.releasePlan.batchPartition: -1"),
		"threshold": bad("spec.releasePlan.failureThreshold: 0% or more", "spec.releasePlan.failureThreshold: -1%"),
		"policy":    bad("spec.releasePlan.finalizingPolicy: supported values", "spec.releasePlan.finalizingPolicy: Later"),
	})
	old := edited[v1alpha1.BatchRelease](t, `{metadata: {name: a}, spec: {targetReference: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: a}}, releasePlan: {batchPartition: -1}}}`)
	compare(t, ValidateOldBatchRelease(nil, old), []string{"spec.releasePlan.batchPartition: 0 or more"})
	compare(t, ValidateOldBatchRelease(old, old), nil)
}

// Objects with nothing in them are complained of, and crash nothing.
func TestMinimalRollouts(t *testing.T) {
	ValidateRollout(&v1beta1.Rollout{}, &v1beta1.Rollout{}, RolloutFacts{Others: []v1beta1.Rollout{{}}})
	ValidateOldRollout(nil, &v1alpha1.Rollout{}, RolloutFacts{})
	ValidateTrafficRouting(nil, &v1alpha1.TrafficRouting{})
	ValidateBatchRelease(nil, &v1beta1.BatchRelease{})
	if len(ValidateRollout(nil, &v1beta1.Rollout{}, RolloutFacts{})) == 0 || RolloutWarnings(&v1beta1.Rollout{}) != nil {
		t.Error("want complaints and no warnings")
	}
}
