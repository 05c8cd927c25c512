// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

func setOf(replicas int32, change func(*appsv1beta1.CloneSet, *appsv1beta1.RollingUpdateCloneSetStrategy)) *appsv1beta1.CloneSet {
	set := &appsv1beta1.CloneSet{}
	set.Spec.Replicas = &replicas
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{}
	if change != nil {
		change(set, set.Spec.UpdateStrategy.RollingUpdate)
	}
	return withDefaults(set)
}

// How a set's numbers become pods.
func TestBudget(t *testing.T) {
	const unlimited = 1<<31 - 1
	text := func(s string) *intstr.IntOrString { return ptr.To(intstr.FromString(s)) }
	for name, tc := range map[string]struct {
		set     *appsv1beta1.CloneSet
		options Options
		want    rollout.Budget
	}{
		"nothing said: a fifth, rounded up": {setOf(6, nil), Options{}, rollout.Budget{Replicas: 6, MaxUnavailable: 2, CreateLimit: unlimited}},
		"rounded down beside a surge": {setOf(6, func(_ *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.MaxSurge = text("20%") }), Options{},
			rollout.Budget{Replicas: 6, MaxUnavailable: 1, MaxSurge: 2, CreateLimit: unlimited}},
		"paused: no surge, and rounded up again": {setOf(6, func(_ *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) {
			r.MaxSurge, r.Paused = text("20%"), true
		}), Options{},
			rollout.Budget{Replicas: 6, MaxUnavailable: 2, CreateLimit: unlimited}},
		"OnDelete: a fifth rounded down, nothing else": {setOf(9, func(s *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) {
			s.Spec.UpdateStrategy.Type = appsv1beta1.CloneSetOnDeleteUpdateStrategyType
			r.Partition, r.MaxSurge, r.MaxUnavailable = text("50%"), text("50%"), text("50%")
		}), Options{}, rollout.Budget{Replicas: 9, MaxUnavailable: 1, CreateLimit: unlimited}},
		"the limit of scaling out rounds up": {setOf(6, func(s *appsv1beta1.CloneSet, _ *appsv1beta1.RollingUpdateCloneSetStrategy) {
			s.Spec.ScaleStrategy.MaxUnavailable = text("20%")
		}), Options{},
			rollout.Budget{Replicas: 6, MaxUnavailable: 2, CreateLimit: 2}},
		"excludePreparingDelete, the field": {setOf(5, func(s *appsv1beta1.CloneSet, _ *appsv1beta1.RollingUpdateCloneSetStrategy) {
			s.Spec.ScaleStrategy.ExcludePreparingDelete = true
		}), Options{},
			rollout.Budget{Replicas: 5, MaxUnavailable: 1, CreateLimit: unlimited, ExcludePreparingDelete: true}},
		"excludePreparingDelete, the label": {setOf(5, func(s *appsv1beta1.CloneSet, _ *appsv1beta1.RollingUpdateCloneSetStrategy) {
			s.Labels = map[string]string{appsv1beta1.CloneSetScalingExcludePreparingDelete: "true"}
		}), Options{},
			rollout.Budget{Replicas: 5, MaxUnavailable: 1, CreateLimit: unlimited, ExcludePreparingDelete: true}},
		"excludePreparingDelete, the flag": {setOf(5, nil), Options{ExcludePreparingDelete: true},
			rollout.Budget{Replicas: 5, MaxUnavailable: 1, CreateLimit: unlimited, ExcludePreparingDelete: true}},
		"the gate of rollbacks": {setOf(5, nil), Options{PartitionRollback: true}, rollout.Budget{Replicas: 5, MaxUnavailable: 1, CreateLimit: unlimited, Rollback: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := budgetOf(tc.set, &tc.options)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A limit that nobody can read counts as 0, is told, and stops nothing else (CS-29).
func TestUnreadableLimit(t *testing.T) {
	set := setOf(5, func(_ *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		r.MaxUnavailable = ptr.To(intstr.FromString("5"))
	})
	rules, err := rulesOf(set, situation{}, &Options{}, differs{})
	if err == nil || !strings.Contains(err.Error(), `maxUnavailable: "5" is neither`) || rules.Members.(*podset.Replicas).Budget.MaxUnavailable != 0 {
		t.Errorf("%v, %+v", err, rules.Members)
	}
}

func TestRules(t *testing.T) {
	policy := func(p appsv1beta1.PodUpdateStrategyType) *appsv1beta1.CloneSet {
		return setOf(1, func(_ *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) { r.PodUpdatePolicy = p })
	}
	for p, want := range map[appsv1beta1.PodUpdateStrategyType]podset.Policy{
		"": podset.Recreate, "ReCreate": podset.Recreate, "InPlaceIfPossible": podset.InPlaceIfPossible, "InPlaceOnly": podset.InPlaceOnly, "Odd": podset.Recreate,
	} {
		rules, err := rulesOf(policy(p), situation{}, &Options{}, sharedDiffers)
		if err != nil || rules.Update.Policy != want || (rules.Update.Differ == sharedDiffers.plain) != (want == podset.InPlaceOnly) {
			t.Errorf("%q: policy %v, %v", p, rules.Update.Policy, err)
		}
	}
	set := setOf(1, func(s *appsv1beta1.CloneSet, r *appsv1beta1.RollingUpdateCloneSetStrategy) {
		s.Spec.MinReadySeconds, r.Paused, r.InPlaceUpdateStrategy = 7, true, &appsv1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: 3}
	})
	rules, _ := rulesOf(set, situation{}, &Options{}, sharedDiffers)
	if rules.MinReady != 7*time.Second || rules.Update.GraceSeconds != 3 || rules.Update.Hold == nil || rules.Update.Hold.Reason != "Paused" || rules.KeepFinished != keepFinished {
		t.Errorf("rules %+v", rules)
	}
	set.Spec.ScaleStrategy.EnablePVCReuse, set.Spec.VolumeClaimTemplates = true, make([]corev1.PersistentVolumeClaim, 1)
	if rules, _ = rulesOf(set, situation{}, &Options{}, sharedDiffers); rules.KeepFinished != 0 {
		t.Error("dead pods are kept, and with them their claims from being used again")
	}
}
