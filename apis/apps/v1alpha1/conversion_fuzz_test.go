// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// rounds is how many random objects each direction of each kind is tried with.
const rounds = 300

// Every served version and back, for every kind: one line each. The functions bring a random object
// into the form that survives: what the version in the middle has no place for, and what it defaults.
func TestRoundTrips(t *testing.T) {
	t.Run("CloneSet up and down", roundTrip[CloneSet, v1beta1.CloneSet](canonicalOldCloneSet))
	t.Run("CloneSet down and up", roundTrip[v1beta1.CloneSet, CloneSet](canonicalCloneSet))
	t.Run("UnitedDeployment up and down", roundTrip[UnitedDeployment, v1beta1.UnitedDeployment](canonicalOldUnitedDeployment))
	t.Run("UnitedDeployment down and up", roundTrip[v1beta1.UnitedDeployment, UnitedDeployment](canonicalUnitedDeployment))
}

// roundTrip converts random objects to the other version and back, and wants them unchanged. It also
// wants the object that is converted untouched: conversions share memory, so they must not write to it.
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
		for range rounds {
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

// canonicalOldCloneSet keeps what survives the way up and down: OnDelete has no other settings, an empty
// in-place strategy becomes nil, and pre-download settings live in annotations.
func canonicalOldCloneSet(in *CloneSet) {
	strategy := &in.Spec.UpdateStrategy
	kinds := []CloneSetUpdateStrategyType{
		RecreateCloneSetUpdateStrategyType, InPlaceIfPossibleCloneSetUpdateStrategyType,
		InPlaceOnlyCloneSetUpdateStrategyType, OnDeleteCloneSetUpdateStrategyType,
	}
	strategy.Type = kinds[len(strategy.Type)%len(kinds)]
	if strategy.Type == OnDeleteCloneSetUpdateStrategyType {
		*strategy = CloneSetUpdateStrategy{Type: strategy.Type}
	}
	if strategy.InPlaceUpdateStrategy == nil {
		return
	}
	grace := strategy.InPlaceUpdateStrategy.GracePeriodSeconds
	strategy.InPlaceUpdateStrategy = &v1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: grace}
	if grace%2 == 0 {
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ImagePreDownloadParallelismKey, "50%")
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ImagePreDownloadTimeoutSecondsKey, "17")
	}
}

// canonicalCloneSet keeps what survives the way down and up: excludePreparingDelete only with its label,
// pre-download settings only with their annotations.
func canonicalCloneSet(in *v1beta1.CloneSet) {
	in.Spec.ScaleStrategy.ExcludePreparingDelete = in.Spec.MinReadySeconds%2 == 0
	if in.Spec.ScaleStrategy.ExcludePreparingDelete {
		in.Labels = withAnnotation(in.Labels, v1beta1.CloneSetScalingExcludePreparingDelete, "true")
	}
	if in.Spec.UpdateStrategy.RollingUpdate == nil {
		in.Spec.UpdateStrategy.Type = v1beta1.CloneSetOnDeleteUpdateStrategyType
		return
	}
	in.Spec.UpdateStrategy.Type = v1beta1.CloneSetRollingUpdateStrategyType
	rolling := in.Spec.UpdateStrategy.RollingUpdate
	policies := []v1beta1.PodUpdateStrategyType{
		v1beta1.RecreatePodUpdateStrategyType, v1beta1.InPlaceIfPossiblePodUpdateStrategyType, v1beta1.InPlaceOnlyPodUpdateStrategyType,
	}
	rolling.PodUpdatePolicy = policies[len(rolling.PodUpdatePolicy)%len(policies)]
	strategy := rolling.InPlaceUpdateStrategy
	if strategy == nil {
		return
	}
	if *strategy == (v1beta1.InPlaceUpdateStrategy{}) {
		rolling.InPlaceUpdateStrategy = nil
		return
	}
	if strategy.ImagePreDownloadParallelism != nil {
		number := intstr.FromInt32(strategy.ImagePreDownloadParallelism.IntVal)
		strategy.ImagePreDownloadParallelism = &number
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ImagePreDownloadParallelismKey, number.String())
	}
	if seconds := strategy.ImagePreDownloadTimeoutSeconds; seconds != nil {
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ImagePreDownloadTimeoutSecondsKey, strconv.Itoa(int(*seconds)))
	}
	if pods := strategy.ImagePreDownloadMinUpdatedReadyPods; pods != nil {
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ImagePreDownloadMinUpdatedReadyPodsKey, strconv.Itoa(int(*pods)))
	}
}

// canonicalOldUnitedDeployment makes the maps say what subsetStatuses say.
func canonicalOldUnitedDeployment(in *UnitedDeployment) {
	status := &in.Status
	var replicas, partitions map[string]int32
	for i := range status.SubsetStatuses {
		subset := &status.SubsetStatuses[i]
		subset.Name = fmt.Sprintf("s%d", i)
		replicas = withEntry(replicas, subset.Name, subset.Replicas)
		partitions = withEntry(partitions, subset.Name, subset.Partition)
	}
	status.SubsetReplicas = replicas
	if status.UpdateStatus == nil && len(status.SubsetStatuses) > 0 {
		status.UpdateStatus = &UpdateStatus{}
	}
	if status.UpdateStatus == nil {
		return
	}
	status.UpdateStatus.CurrentPartitions = partitions
	if len(status.SubsetStatuses) == 0 && status.UpdateStatus.UpdatedRevision == "" {
		status.UpdateStatus = nil
	}
}

// canonicalUnitedDeployment makes subset names unique; one of them stays empty.
func canonicalUnitedDeployment(in *v1beta1.UnitedDeployment) {
	for i := range in.Status.SubsetStatuses {
		in.Status.SubsetStatuses[i].Name = fmt.Sprintf("s%d", i)
	}
	if len(in.Status.SubsetStatuses) > 1 {
		in.Status.SubsetStatuses[0].Name = ""
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
