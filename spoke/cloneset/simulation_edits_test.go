// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podset/simulate"
)

// randomize draws a CloneSet and the faults of its world.
func (s *sim) randomize() {
	r := s.Rand
	spec := &s.set.Spec
	spec.Replicas = ptr.To(int32(r.Intn(7)))
	policies := []appsv1beta1.PodUpdateStrategyType{"", appsv1beta1.RecreatePodUpdateStrategyType,
		appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType, appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType, appsv1beta1.InPlaceOnlyPodUpdateStrategyType}
	spec.UpdateStrategy.RollingUpdate = &appsv1beta1.RollingUpdateCloneSetStrategy{PodUpdatePolicy: policies[r.Intn(len(policies))]}
	s.randomizeBudget()
	if r.Intn(4) == 0 {
		spec.MinReadySeconds = int32(1 + r.Intn(4))
	}
	if r.Intn(4) == 0 {
		spec.UpdateStrategy.RollingUpdate.InPlaceUpdateStrategy = &appsv1beta1.InPlaceUpdateStrategy{GracePeriodSeconds: int32(r.Intn(5))}
	}
	if r.Intn(4) == 0 {
		spec.ScaleStrategy.MaxUnavailable = ptr.To(intstr.FromInt(1 + r.Intn(3)))
	}
	spec.ScaleStrategy.ExcludePreparingDelete = r.Intn(4) == 0
	s.options.PartitionRollback = r.Intn(3) == 0
	s.options.PreparingUpdateAsUpdate = r.Intn(4) == 0
	if r.Intn(3) == 0 {
		s.randomizeHooks()
	}
	s.handled, s.switched, s.KeepStuck = r.Intn(4) > 0, r.Intn(2) == 0, r.Intn(3) == 0
	s.Bad = map[string]bool{"a:1": r.Intn(3) == 0, "b:2": r.Intn(6) == 0}
	f := func() float64 { return []float64{0, 0, 0.02, 0.08}[r.Intn(4)] }
	s.Faults = simulate.Faults{Die: f(), Evict: f(), Stick: f(), Sicken: f(), Refuse: f(), Conflict: f(), LoseAnswer: f(), Lag: []float64{0, 0.3, 0.6}[r.Intn(3)]}
}

func (s *sim) randomizeHooks() {
	hook := func(key string) *appsv1beta1.LifecycleHook {
		if s.Rand.Intn(3) == 0 {
			return nil
		}
		return &appsv1beta1.LifecycleHook{LabelsHandler: map[string]string{key: "held"}, MarkPodNotReady: key != normalHook && s.Rand.Intn(3) == 0}
	}
	s.set.Spec.Lifecycle = &appsv1beta1.Lifecycle{InPlaceUpdate: hook(updateHook), PreDelete: hook(deleteHook), PreNormal: hook(normalHook)}
}

func (s *sim) randomizeBudget() {
	r := s.Rand
	rolling := s.set.Spec.UpdateStrategy.RollingUpdate
	amount := func(low int) *intstr.IntOrString {
		switch r.Intn(4) {
		case 0:
			return nil
		case 1:
			return ptr.To(intstr.FromString(fmt.Sprintf("%d%%", 10*r.Intn(11))))
		default:
			return ptr.To(intstr.FromInt(low + r.Intn(4)))
		}
	}
	rolling.MaxUnavailable, rolling.MaxSurge, rolling.Partition = amount(0), amount(0), amount(0)
	if rolling.PodUpdatePolicy == appsv1beta1.InPlaceOnlyPodUpdateStrategyType {
		rolling.MaxSurge = nil
	}
}

// meddle is one random edit by a user, or a restart of the controller.
func (s *sim) meddle() {
	r := s.Rand
	switch r.Intn(12) {
	case 0:
		s.set.Spec.Replicas = ptr.To(int32(r.Intn(7)))
	case 1, 2, 3:
		s.use(s.randomTemplate())
	case 4:
		s.randomizeBudget()
	case 5:
		s.set.Spec.UpdateStrategy.RollingUpdate.Paused = !s.set.Spec.UpdateStrategy.RollingUpdate.Paused
	case 6:
		s.meddleWithPods()
	case 7:
		s.Restart()
		s.disrupted = map[types.UID]string{}
	case 8:
		s.handled = !s.handled
	case 9:
		s.meddleWithStrategy()
	case 10:
		s.set.Spec.MinReadySeconds = int32(r.Intn(4))
	case 11: // back and forth before the first change is through
		s.use(s.randomTemplate())
		if len(s.revisions) > 1 && r.Intn(2) == 0 {
			s.use(s.templateOf(s.current()))
		}
	}
}

func (s *sim) meddleWithPods() {
	truth := s.Truth()
	if len(truth) == 0 {
		return
	}
	pod := truth[s.Rand.Intn(len(truth))]
	switch s.Rand.Intn(3) {
	case 0:
		s.relabel(pod, appsv1beta1.SpecifiedDeleteKey, "true")
	case 1:
		s.relabel(pod, appsv1beta1.PodTemplateHashLabel, "")
	case 2:
		scale := &s.set.Spec.ScaleStrategy
		scale.PodsToDelete = append(scale.PodsToDelete, pod.Name)
	}
}

func (s *sim) meddleWithStrategy() {
	strategy := &s.set.Spec.UpdateStrategy
	switch s.Rand.Intn(4) {
	case 0:
		strategy.Type = appsv1beta1.CloneSetOnDeleteUpdateStrategyType
	case 1:
		strategy.Type = appsv1beta1.CloneSetRollingUpdateStrategyType
	case 2:
		strategy.RollingUpdate.PodUpdatePolicy = appsv1beta1.RecreatePodUpdateStrategyType
		if s.Rand.Intn(2) == 0 {
			strategy.RollingUpdate.PodUpdatePolicy = appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType
		}
	case 3:
		s.set.Spec.Lifecycle = nil
		if s.Rand.Intn(2) == 0 {
			s.randomizeHooks()
		}
	}
}

func (s *sim) templateOf(r *appsv1.ControllerRevision) int { return s.templateNamed(r.Name) }

// templateNamed is the number that a revision's name ends with.
func (s *sim) templateNamed(revision string) int {
	n, err := strconv.Atoi(pods.ShortHash(revision))
	if err != nil {
		panic(err)
	}
	return n
}

func (s *sim) randomTemplate() int {
	if s.set.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy == appsv1beta1.InPlaceOnlyPodUpdateStrategyType {
		return s.Rand.Intn(4)
	}
	return s.Rand.Intn(len(s.templates))
}
