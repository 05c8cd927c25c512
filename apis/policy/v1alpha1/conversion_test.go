// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"flag"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

var rounds = flag.Int("conversion.rounds", 300, "random objects for each direction of each kind")

func TestRoundTrips(t *testing.T) {
	t.Run("PodUnavailableBudget up and down", roundTrip[PodUnavailableBudget, v1beta1.PodUnavailableBudget](variedOldBudget))
	t.Run("PodUnavailableBudget down and up", roundTrip[v1beta1.PodUnavailableBudget, PodUnavailableBudget](variedBudget))
}

// roundTrip converts random objects to the other version and back, and wants them, and the object that is
// converted, unchanged.
func roundTrip[From, To any](vary func(*From)) func(*testing.T) {
	return func(t *testing.T) {
		scheme := newScheme(t)
		seed := rand.Int63()
		filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
		for round := range *rounds {
			var in, back From
			var middle To
			if round > 0 { // the first says nothing
				filler.Fill(&in)
			}
			vary(&in)
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
			if diff := cmp.Diff(tree(t, before), tree(t, &back)); diff != "" {
				t.Fatalf("seed %d: lost on the way (-before +after):\n%s\nthe middle was %s", seed, diff, wire(t, &middle))
			}
		}
	}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// wire is an object as it is sent, where an empty list is an absent one.
func wire(t *testing.T, obj any) string {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree is an object as it is read, where the order of fields makes no difference.
func tree(t *testing.T, obj any) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(wire(t, obj)))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func variedOldBudget(in *PodUnavailableBudget) {
	in.Annotations = someAnnotations(in.Annotations, len(in.Name), []string{"DELETE", " UPDATE ,EVICT,", ","}, []string{"7", "+7", "007"})
}

// variedBudget has annotations that say the same as the fields, another thing, or nothing that can be read.
func variedBudget(in *v1beta1.PodUnavailableBudget) {
	operations := []v1beta1.PubOperation{"DELETE", "UPDATE", "EVICT", "RESIZE"}
	for i := range in.Spec.ProtectOperations {
		in.Spec.ProtectOperations[i] = operations[(len(in.Name)+i)%len(operations)]
	}
	in.Annotations = someAnnotations(in.Annotations, len(in.Name), []string{"DELETE", "delete", ""}, []string{"7", "some", ""})
}

func someAnnotations(in map[string]string, dice int, operations, replicas []string) map[string]string {
	if in == nil {
		in = map[string]string{}
	}
	if dice&1 == 1 {
		in[operationsKey] = operations[dice%len(operations)]
	}
	if dice&2 == 2 {
		in[replicasKey] = replicas[dice%len(replicas)]
	}
	return in
}

const (
	operationsAre = `"kruise.io/pub-protect-operations":`
	replicasAre   = `"pub.kruise.io/protect-total-replicas":`
)

func TestUp(t *testing.T) {
	rows := map[string]struct{ annotations, want string }{
		"none":                    {want: `{}`},
		"operations":              {annotations: operationsAre + `" DELETE,, EVICT"`, want: `{"protectOperations":["DELETE","EVICT"]}`},
		"replicas":                {annotations: replicasAre + `"15"`, want: `{"protectTotalReplicas":15}`},
		"both":                    {annotations: operationsAre + `"RESIZE",` + replicasAre + `"1"`, want: `{"protectOperations":["RESIZE"],"protectTotalReplicas":1}`},
		"unknown operation":       {annotations: operationsAre + `"DELETE,drop"`, want: `{"protectOperations":["DELETE"]}`},
		"replicas are no number":  {annotations: replicasAre + `"some"`, want: `{}`},
		"replicas are no integer": {annotations: replicasAre + `"4294967296"`, want: `{}`},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			var in PodUnavailableBudget
			var got, want v1beta1.PodUnavailableBudget
			read(t, `{"metadata":{"annotations":{`+row.annotations+`}}}`, &in)
			if err := newScheme(t).Convert(&in, &got, nil); err != nil {
				t.Fatal(err)
			}
			read(t, `{"metadata":{"annotations":{`+row.annotations+`}},"spec":`+row.want+`}`, &want)
			if diff := cmp.Diff(wire(t, &want), wire(t, &got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A row says what v1alpha1 sees of an object, and what a client of v1alpha1 that changes it leaves.
func TestThroughOldVersion(t *testing.T) {
	rows := map[string]struct {
		in, seen, want string
		change         func(*PodUnavailableBudget)
	}{
		"fields are annotations, and leave none behind": {
			in:   `{"spec":{"protectOperations":["DELETE","RESIZE"],"protectTotalReplicas":3}}`,
			seen: `{` + operationsAre + `"DELETE,RESIZE",` + replicasAre + `"3"}`,
			want: `{"spec":{"protectOperations":["DELETE","RESIZE"],"protectTotalReplicas":3}}`,
		},
		"annotations beside empty fields are not shown, and stay": {
			in:   `{"metadata":{"annotations":{` + operationsAre + `"DELETE",` + replicasAre + `"3"}}}`,
			seen: `{}`,
			want: `{"metadata":{"annotations":{` + operationsAre + `"DELETE",` + replicasAre + `"3"}}}`,
		},
		"ignoredPodSelector stays": {
			in:     `{"spec":{"ignoredPodSelector":{"matchLabels":{"a":"b"}}}}`,
			seen:   `{}`,
			change: func(other *PodUnavailableBudget) { other.Labels = map[string]string{"c": "d"} },
			want:   `{"metadata":{"labels":{"c":"d"}},"spec":{"ignoredPodSelector":{"matchLabels":{"a":"b"}}}}`,
		},
		"an annotation that is changed changes the field": {
			in:     `{"spec":{"protectTotalReplicas":3}}`,
			seen:   `{` + replicasAre + `"3"}`,
			change: func(other *PodUnavailableBudget) { other.Annotations[replicasKey] = "4" },
			want:   `{"metadata":{"annotations":{` + replicasAre + `"4"}},"spec":{"protectTotalReplicas":4}}`,
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			scheme := newScheme(t)
			var in, got, want v1beta1.PodUnavailableBudget
			var other PodUnavailableBudget
			read(t, row.in, &in)
			read(t, row.want, &want)
			if err := scheme.Convert(&in, &other, nil); err != nil {
				t.Fatal(err)
			}
			seen := map[string]string{}
			for _, key := range []string{operationsKey, replicasKey} {
				if value, present := other.Annotations[key]; present {
					seen[key] = value
				}
			}
			var wantSeen map[string]string
			read(t, row.seen, &wantSeen)
			if diff := cmp.Diff(wantSeen, seen); diff != "" {
				t.Errorf("v1alpha1 sees (-want +got):\n%s", diff)
			}
			if row.change != nil {
				row.change(&other)
			}
			if err := scheme.Convert(&other, &got, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wire(t, &want), wire(t, &got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}
