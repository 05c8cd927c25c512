// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// rounds is how many random objects each direction of each kind is tried with.
var rounds = flag.Int("conversion.rounds", 300, "random objects for each direction of each kind")

// Every served version and back, for every kind: one line each. The first function,
// if any, makes what matters as likely as what is random; the second spells out what goes without saying.
func TestRoundTrips(t *testing.T) {
	t.Run("AdvancedCronJob up and down", roundTrip[AdvancedCronJob, v1beta1.AdvancedCronJob](nil))
	t.Run("AdvancedCronJob down and up", roundTrip[v1beta1.AdvancedCronJob, AdvancedCronJob](nil))
	t.Run("BroadcastJob up and down", roundTrip[BroadcastJob, v1beta1.BroadcastJob](nil))
	t.Run("BroadcastJob down and up", roundTrip[v1beta1.BroadcastJob, BroadcastJob](nil))
	t.Run("CloneSet up and down", roundTrip[CloneSet, v1beta1.CloneSet](variedOldCloneSet, spelledOldCloneSet))
	t.Run("CloneSet down and up", roundTrip[v1beta1.CloneSet, CloneSet](variedCloneSet, spelledCloneSet))
	t.Run("DaemonSet up and down", roundTrip[DaemonSet, v1beta1.DaemonSet](variedOldDaemonSet))
	t.Run("DaemonSet down and up", roundTrip[v1beta1.DaemonSet, DaemonSet](variedDaemonSet))
	t.Run("PersistentPodState up and down", roundTrip[PersistentPodState, v1beta1.PersistentPodState](nil))
	t.Run("PersistentPodState down and up", roundTrip[v1beta1.PersistentPodState, PersistentPodState](nil))
	t.Run("ResourceDistribution up and down", roundTrip[ResourceDistribution, v1beta1.ResourceDistribution](nil))
	t.Run("ResourceDistribution down and up", roundTrip[v1beta1.ResourceDistribution, ResourceDistribution](nil))
	t.Run("StatefulSet up and down", roundTrip[StatefulSet, v1beta1.StatefulSet](nil))
	t.Run("StatefulSet down and up", roundTrip[v1beta1.StatefulSet, StatefulSet](nil))
	t.Run("UnitedDeployment up and down", roundTrip[UnitedDeployment, v1beta1.UnitedDeployment](variedOldUnitedDeployment))
	t.Run("UnitedDeployment down and up", roundTrip[v1beta1.UnitedDeployment, UnitedDeployment](variedUnitedDeployment))
	t.Run("WorkloadSpread up and down", roundTrip[WorkloadSpread, v1beta1.WorkloadSpread](variedOldWorkloadSpread))
	t.Run("WorkloadSpread down and up", roundTrip[v1beta1.WorkloadSpread, WorkloadSpread](variedWorkloadSpread))
}

// roundTrip converts random objects to the other version and back, and wants them unchanged. It also
// wants the object that is converted untouched: conversions share memory, so they must not write to it.
func roundTrip[From, To any](vary func(*From), spell ...func(*From)) func(*testing.T) {
	return func(t *testing.T) {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{AddToScheme, v1beta1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		seed := rand.Int63()
		filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
		for round := range *rounds {
			var in, back From
			var middle To
			if round > 0 { // the first says nothing
				filler.Fill(&in)
			}
			if vary != nil {
				vary(&in)
			}
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
			for _, words := range spell {
				words(any(before).(*From))
				words(&back)
			}
			if diff := cmp.Diff(tree(t, before), tree(t, &back)); diff != "" {
				t.Fatalf("seed %d: lost on the way (-before +after):\n%s\nthe middle was %s", seed, diff, wire(t, &middle))
			}
		}
	}
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

// variedOldCloneSet has all types and leftover annotations.
func variedOldCloneSet(in *CloneSet) {
	strategy := &in.Spec.UpdateStrategy
	kinds := []CloneSetUpdateStrategyType{
		RecreateCloneSetUpdateStrategyType, InPlaceIfPossibleCloneSetUpdateStrategyType,
		InPlaceOnlyCloneSetUpdateStrategyType, OnDeleteCloneSetUpdateStrategyType, "Sideways",
	}
	strategy.Type = kinds[len(strategy.Type)%len(kinds)]
	in.Annotations = someAnnotations(in.Annotations, len(in.Name))
}

// variedCloneSet has all types, and leftover annotations and labels.
func variedCloneSet(in *v1beta1.CloneSet) {
	if in.Spec.MinReadySeconds%3 == 0 {
		in.Labels = withAnnotation(in.Labels, v1beta1.CloneSetScalingExcludePreparingDelete, "true")
	}
	in.Annotations = someAnnotations(in.Annotations, len(in.Name))
	kinds := []v1beta1.CloneSetUpdateStrategyType{v1beta1.CloneSetRollingUpdateStrategyType, v1beta1.CloneSetOnDeleteUpdateStrategyType, "Sideways"}
	strategy := &in.Spec.UpdateStrategy
	strategy.Type = kinds[len(strategy.Type)%len(kinds)]
	rolling := strategy.RollingUpdate
	if rolling == nil {
		strategy.Type = v1beta1.CloneSetOnDeleteUpdateStrategyType
		return
	}
	policies := []v1beta1.PodUpdateStrategyType{
		v1beta1.RecreatePodUpdateStrategyType, v1beta1.InPlaceIfPossiblePodUpdateStrategyType, v1beta1.InPlaceOnlyPodUpdateStrategyType, "Sideways",
	}
	rolling.PodUpdatePolicy = policies[len(rolling.PodUpdatePolicy)%len(policies)]
}

func spelledOldCloneSet(in *CloneSet) {
	in.Spec.UpdateStrategy = spelledFlat(in.Spec.UpdateStrategy)
}

func spelledCloneSet(in *v1beta1.CloneSet) {
	in.Spec.UpdateStrategy = spelledOut(in.Spec.UpdateStrategy)
}

func someAnnotations(in map[string]string, dice int) map[string]string {
	keys := []string{v1beta1.ImagePreDownloadParallelismKey, v1beta1.ImagePreDownloadTimeoutSecondsKey, v1beta1.ImagePreDownloadMinUpdatedReadyPodsKey}
	for i, value := range []string{"50%", "17", "soon"} {
		if dice>>i&1 == 1 {
			in = withAnnotation(in, keys[(i+dice)%len(keys)], value)
		}
	}
	return in
}

func variedOldDaemonSet(in *DaemonSet) {
	if rolling := in.Spec.UpdateStrategy.RollingUpdate; rolling != nil && in.Spec.MinReadySeconds%2 == 0 {
		rolling.Type = SurgingRollingUpdateType
	}
	if in.Spec.MinReadySeconds%3 == 0 {
		in.Annotations = withAnnotation(in.Annotations, v1beta1.DaemonSetProgressiveCreatePod, []string{"true", "false"}[len(in.Name)%2])
	}
}

func variedDaemonSet(in *v1beta1.DaemonSet) {
	if in.Spec.MinReadySeconds%3 == 0 {
		in.Annotations = withAnnotation(in.Annotations, v1beta1.DaemonSetProgressiveCreatePod, []string{"true", "false"}[len(in.Name)%2])
	}
}

// variedOldUnitedDeployment makes the maps speak of the same subsets as subsetStatuses, now and then.
func variedOldUnitedDeployment(in *UnitedDeployment) {
	status := &in.Status
	for i := range status.SubsetStatuses {
		subset := &status.SubsetStatuses[i]
		subset.Name = fmt.Sprintf("s%d", i*int(subset.Replicas&1))
		status.SubsetReplicas = withEntry(status.SubsetReplicas, subset.Name, subset.Replicas&^2)
	}
}

// variedUnitedDeployment gives some subsets one name, and some none.
func variedUnitedDeployment(in *v1beta1.UnitedDeployment) {
	for i := range in.Status.SubsetStatuses {
		subset := &in.Status.SubsetStatuses[i]
		subset.Name = []string{"", "a", "b", subset.Name}[subset.Replicas&3]
	}
}

func variedOldWorkloadSpread(in *WorkloadSpread) {
	for _, statuses := range in.Status.VersionedSubsetStatuses {
		for i := range statuses {
			for j := range statuses[i].Conditions {
				if statuses[i].Replicas%2 == 0 {
					statuses[i].Conditions[j].Reason = ""
				}
			}
		}
	}
}

func variedWorkloadSpread(in *v1beta1.WorkloadSpread) {
	for _, statuses := range in.Status.VersionedSubsetStatuses {
		for i := range statuses {
			for j := range statuses[i].Conditions {
				if statuses[i].Replicas%2 == 0 {
					statuses[i].Conditions[j].ObservedGeneration = 0
				}
			}
		}
	}
}

func withAnnotation(in map[string]string, key, value string) map[string]string {
	if in == nil {
		in = map[string]string{}
	}
	in[key] = value
	return in
}

func withEntry(in map[string]int32, key string, value int32) map[string]int32 {
	if in == nil {
		in = map[string]int32{}
	}
	in[key] = value
	return in
}
