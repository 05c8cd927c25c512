// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/preserve"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// conversionCase is one row: an object of one version and the same object in the other.
type conversionCase struct{ in, want string }

func runConversions[From, To any](t *testing.T, cases map[string]conversionCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := converted[From, To](t, parsed[From](t, c.in))
			if diff := cmp.Diff(parsed[To](t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func parsed[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func converted[From, To any](t *testing.T, in *From) *To {
	t.Helper()
	out := new(To)
	if err := conversions(t).Convert(in, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

func conversions(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestRolloutUp(t *testing.T) {
	runConversions[Rollout, v1beta1.Rollout](t, map[string]conversionCase{
		"nothing": {in: `{}`, want: `{}`},
		"partition, with all that steps can have": {
			in: `
metadata: {annotations: {rollouts.kruise.io/rolling-style: Partition, rollouts.kruise.io/trafficrouting: shared}}
spec:
  objectRef: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
  disabled: true
  strategy:
    paused: true
    canary:
      failureThreshold: 10%
      trafficRoutings: [{service: web, gracePeriodSeconds: 0, ingress: {name: web}}]
      steps:
      - {weight: 20, replicas: 1, pause: {duration: 5}}
      - {replicas: 100%, matches: [{headers: [{name: user, value: a}]}], requestHeaderModifier: {remove: [b]}}`,
			want: `
metadata: {annotations: {rollouts.kruise.io/rolling-style: Partition}}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  disabled: true
  strategy:
    paused: true
    canary:
      failureThreshold: 10%
      trafficRoutingRef: shared
      trafficRoutings: [{service: web, gracePeriodSeconds: 0, ingress: {name: web}}]
      steps:
      - {traffic: 20%, replicas: 1, pause: {duration: 5}}
      - {replicas: 100%, matches: [{headers: [{name: user, value: a}]}], requestHeaderModifier: {remove: [b]}}`,
		},
		"no style means an extra workload; a weight alone gives replicas": {
			in: `{spec: {strategy: {canary: {steps: [{weight: 20}]}}}}`,
			want: `
metadata: {annotations: {internal.kruise.io/conversion-data: '{"base":{"spec":{"strategy":{"canary":{"steps":[{"pause":{},"replicas":"20%","weight":20}]}}}},"full":{"spec":{"strategy":{"canary":{"steps":[{"pause":{},"weight":20}]}}}}}'}}
spec: {strategy: {canary: {enableExtraWorkloadForCanary: true, steps: [{traffic: 20%, replicas: 20%}]}}}`,
		},
		"the step under way is mirrored": {
			in: `{status: {phase: Progressing, canaryStatus: {currentStepIndex: 2, currentStepState: StepPaused}}}`,
			want: `{status: {phase: Progressing, currentStepIndex: 2, currentStepState: StepPaused,
				canaryStatus: {currentStepIndex: 2, currentStepState: StepPaused}}}`,
		},
	})
}

func TestRolloutDown(t *testing.T) {
	runConversions[v1beta1.Rollout, Rollout](t, map[string]conversionCase{
		"nothing": {in: `{}`, want: `{}`},
		"partition": {
			in: `
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {canary: {trafficRoutingRef: shared, steps: [{traffic: 20%, replicas: 1}]}}`,
			want: `
metadata: {annotations: {rollouts.kruise.io/rolling-style: partition, rollouts.kruise.io/trafficrouting: shared}}
spec:
  objectRef: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
  strategy: {canary: {steps: [{weight: 20, replicas: 1}]}}`,
		},
		"extra workload": {
			in:   `{spec: {strategy: {canary: {enableExtraWorkloadForCanary: true}}}}`,
			want: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: canary}}, spec: {strategy: {canary: {}}}}`,
		},
		"blue-green": {
			in: `{spec: {strategy: {paused: true, blueGreen: {steps: [{replicas: 100%, traffic: 0%}]}}}}`,
			want: `
metadata: {annotations: {rollouts.kruise.io/v1beta1-preserved: '{"base":{"spec":{"strategy":{}}},"full":{"spec":{"strategy":{"blueGreen":{"steps":[{"pause":{},"replicas":"100%","traffic":"0%"}]}}}}}'}}
spec: {strategy: {paused: true}}`,
		},
	})
}

func TestBatchRelease(t *testing.T) {
	runConversions[BatchRelease, v1beta1.BatchRelease](t, map[string]conversionCase{
		"up: the annotation says the style": {
			in: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: bluegreen}}, spec: {targetReference: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}},
				releasePlan: {batches: [{canaryReplicas: 1}], batchPartition: 0}}}`,
			want: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: bluegreen,
				internal.kruise.io/conversion-data: '{"base":{"spec":{"releasePlan":{"rollingStyle":"BlueGreen"}}},"full":{"spec":{"releasePlan":{}}}}'}},
				spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web},
				releasePlan: {batches: [{canaryReplicas: 1}], batchPartition: 0, rollingStyle: BlueGreen}}}`,
		},
	})
	runConversions[v1beta1.BatchRelease, BatchRelease](t, map[string]conversionCase{
		"down: so does the field": {
			in: `{spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}, releasePlan: {rollingStyle: Canary}}, status: {message: why}}`,
			want: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: canary, rollouts.kruise.io/v1beta1-preserved: '{"base":{"status":{}},"full":{"status":{"message":"why"}}}'}},
				spec: {targetReference: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}, releasePlan: {rollingStyle: Canary}}}`,
		},
	})
}

// A client of v1alpha1 reads, changes something and writes.
func TestEditsThroughTheOldVersion(t *testing.T) {
	cases := map[string]struct {
		in, want string
		edit     func(*Rollout)
	}{
		"blue-green, paused": {
			in:   `{spec: {strategy: {blueGreen: {steps: [{replicas: 100%, traffic: 0%}]}}}}`,
			edit: func(o *Rollout) { o.Spec.Strategy.Paused = true },
			want: `{spec: {strategy: {paused: true, blueGreen: {steps: [{replicas: 100%, traffic: 0%}]}}}}`,
		},
		"a path match, the pause of its step": {
			in:   `{metadata: {annotations: {rollouts.kruise.io/rolling-style: partition}}, spec: {strategy: {canary: {steps: [{replicas: 1, matches: [{path: {value: /a}}]}, {replicas: 100%}]}}}}`,
			edit: func(o *Rollout) { seconds := int32(5); o.Spec.Strategy.Canary.Steps[0].Pause.Duration = &seconds },
			want: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: partition}}, spec: {strategy: {canary: {steps: [{replicas: 1, pause: {duration: 5}, matches: [{path: {value: /a}}]}, {replicas: 100%}]}}}}`,
		},
		"a path match, the step before taken out": {
			in:   `{metadata: {annotations: {rollouts.kruise.io/rolling-style: partition}}, spec: {strategy: {canary: {steps: [{replicas: 1}, {replicas: 100%, matches: [{path: {value: /a}}]}]}}}}`,
			edit: func(o *Rollout) { o.Spec.Strategy.Canary.Steps = o.Spec.Strategy.Canary.Steps[1:] },
			want: `{metadata: {annotations: {rollouts.kruise.io/rolling-style: partition}}, spec: {strategy: {canary: {steps: [{replicas: 100%, matches: [{path: {value: /a}}]}]}}}}`,
		},
		"the annotation damaged": {
			in:   `{spec: {strategy: {paused: true, blueGreen: {}}}}`,
			edit: func(o *Rollout) { o.Annotations[v1beta1.PreservedAnnotation] = `{"full":{"spec":{"strategy":7}}}` },
			want: `{spec: {strategy: {paused: true}}}`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old := converted[v1beta1.Rollout, Rollout](t, parsed[v1beta1.Rollout](t, c.in))
			c.edit(old)
			if diff := cmp.Diff(parsed[v1beta1.Rollout](t, c.want), converted[Rollout, v1beta1.Rollout](t, old)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// More than an annotation can hold can be read in v1alpha1, and not be written through it.
func TestTooMuchToPreserve(t *testing.T) {
	in := parsed[v1beta1.Rollout](t, `{spec: {strategy: {blueGreen: {steps: [{replicas: 1, matches: [{}]}]}}}}`)
	random := rand.New(rand.NewSource(1))
	for range 400 {
		noise := make([]byte, 400)
		for i := range noise {
			noise[i] = byte(33 + random.Intn(90))
		}
		match := v1beta1.HTTPRouteMatch{Headers: []v1beta1.HTTPHeaderMatch{{Name: "n", Value: string(noise)}}}
		in.Spec.Strategy.BlueGreen.Steps[0].Matches = append(in.Spec.Strategy.BlueGreen.Steps[0].Matches, match)
	}
	old := converted[v1beta1.Rollout, Rollout](t, in)
	if err := conversions(t).Convert(old, &v1beta1.Rollout{}, nil); !errors.Is(err, preserve.ErrTooMuch) {
		t.Errorf("got %v, want %v", err, preserve.ErrTooMuch)
	}
}
