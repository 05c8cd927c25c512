// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"flag"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/flotilla-sh/flotilla/apis/preserve"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// rounds is how many random objects each direction of each kind is tried with.
var rounds = flag.Int("conversion.rounds", 500, "random objects per kind and direction")

// Every served version and back, for every kind: one line each. The functions bring a random object into the
// form that survives: the annotation for the rolling style is not taken off.
func TestRoundTrips(t *testing.T) {
	t.Run("Rollout up and down", roundTrip[Rollout, v1beta1.Rollout](canonicalOldRollout))
	t.Run("Rollout down and up", roundTrip[v1beta1.Rollout, Rollout](canonicalRollout))
	t.Run("BatchRelease up and down", roundTrip[BatchRelease, v1beta1.BatchRelease](canonicalOldBatchRelease))
	t.Run("BatchRelease down and up", roundTrip[v1beta1.BatchRelease, BatchRelease](canonicalBatchRelease))
}

// roundTrip converts random objects to the other version and back, and wants them unchanged. It also wants
// the object that is converted untouched: conversions share memory, so they must not write to it.
func roundTrip[From, To any](canonical func(*From)) func(*testing.T) {
	return func(t *testing.T) {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{AddToScheme, v1beta1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		seed := rand.Int63()
		filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
		for range *rounds {
			var in, back From
			var middle To
			filler.Fill(&in)
			canonical(&in)
			before := any(&in).(runtime.Object).DeepCopyObject()
			if err := scheme.Convert(&in, &middle, nil); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err := scheme.Convert(&middle, &back, nil); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(before, any(&in)); diff != "" {
				t.Fatalf("seed %d: conversion changed its input (-before +after):\n%s", seed, diff)
			}
			if diff := cmp.Diff(before, any(&back)); diff != "" {
				t.Fatalf("seed %d: lost on the way (-before +after):\n%s", seed, diff)
			}
		}
	}
}

// asStored brings an object into the form that an API server can hold, where an empty list is none.
func asStored[T any](in *T) {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	*in = out
}

func canonicalOldRollout(in *Rollout) {
	asStored(in)
	styles := []string{"partition", "Partition", "canary", "CANARY"}
	style := styles[(uint64(in.Generation)>>1)%4]
	if in.Spec.Strategy.Canary != nil {
		in.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, style)
	}
	if in.Generation%2 == 0 {
		in.Annotations = preserve.With(in.Annotations, v1beta1.TrafficRoutingAnnotation, "shared")
	}
}

func canonicalRollout(in *v1beta1.Rollout) {
	asStored(in)
	canary := in.Spec.Strategy.Canary
	if in.Generation%2 == 0 {
		in.Annotations = preserve.With(in.Annotations, v1beta1.TrafficRoutingAnnotation, "shared")
	}
	if canary == nil {
		return
	}
	if in.Generation%3 == 0 {
		canary.TrafficRoutingRef = ""
	}
	if in.Generation%5 == 0 {
		in.Spec.Strategy.BlueGreen = nil
	}
	for i := range canary.Steps {
		if traffic := percent(int32(in.Generation % 100)); i%2 == 0 {
			canary.Steps[i].Traffic = &traffic
		}
	}
	style := "partition"
	if canary.EnableExtraWorkloadForCanary {
		style = "canary"
	}
	in.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, style)
}

func canonicalOldBatchRelease(in *BatchRelease) {
	asStored(in)
	if in.Generation%2 == 0 {
		in.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, "BlueGreen")
	}
	if style := string(in.Spec.ReleasePlan.RollingStyle); style != "" && in.Generation%2 != 0 {
		in.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, style)
	}
}

func canonicalBatchRelease(in *v1beta1.BatchRelease) {
	asStored(in)
	styles := []v1beta1.RollingStyleType{
		v1beta1.EmptyRollingStyle, v1beta1.PartitionRollingStyle, v1beta1.CanaryRollingStyle, v1beta1.BlueGreenRollingStyle,
	}
	in.Spec.ReleasePlan.RollingStyle = styles[uint64(in.Generation)%4]
	in.Annotations = preserve.With(in.Annotations, v1beta1.RolloutStyleAnnotation, string(in.Spec.ReleasePlan.RollingStyle))
	if in.Spec.ReleasePlan.RollingStyle == "" {
		in.Annotations[v1beta1.RolloutStyleAnnotation] = "partition"
	}
}
