// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// unbounded stands for the maxReplicas of a subset that has none.
const unbounded = 1_000_000

func (p *problems) topology(path *field.Path, spec *v1beta1.UnitedDeploymentSpec) {
	strategy := &spec.Topology.ScheduleStrategy
	at := path.Child("scheduleStrategy")
	if strategy.Type != "" {
		oneOf(p, at.Child("type"), strategy.Type, v1beta1.AdaptiveUnitedDeploymentScheduleStrategyType, v1beta1.FixedUnitedDeploymentScheduleStrategyType)
	}
	adaptive := strategy.Type == v1beta1.AdaptiveUnitedDeploymentScheduleStrategyType
	reserves := adaptive && strategy.Adaptive != nil && strategy.Adaptive.ReserveUnschedulablePods
	if reserves && (spec.Template.StatefulSetTemplate != nil || spec.Template.AdvancedStatefulSetTemplate != nil) {
		p.invalid(at.Child("adaptive", "reserveUnschedulablePods"), true,
			"must be false for StatefulSets: use cloneSetTemplate or deploymentTemplate to reserve pods")
	}
	p.subsets(path.Child("subsets"), spec, adaptive)
}

func (p *problems) subsets(path *field.Path, spec *v1beta1.UnitedDeploymentSpec, adaptive bool) {
	names := map[string]bool{}
	shares := shares{spec: spec}
	for i := range spec.Topology.Subsets {
		at, subset := path.Index(i), &spec.Topology.Subsets[i]
		if subset.Name == "" {
			p.required(at.Child("name"), "name the subset")
		} else {
			p.check(at.Child("name"), subset.Name, utilvalidation.IsDNS1123Label(subset.Name))
		}
		unique(p, names, at.Child("name"), subset.Name)
		p.nodeSelectorTerm(at.Child("nodeSelectorTerm"), &subset.NodeSelectorTerm)
		p.tolerations(at.Child("tolerations"), subset.Tolerations)
		if adaptive && subset.Replicas != nil {
			p.forbidden(at.Child("replicas"), "cannot be fixed with scheduleStrategy Adaptive: use minReplicas and maxReplicas")
		}
		p.subsetNumbers(at, subset, &shares)
	}
	p.sums(path, &shares)
}

// shares adds up what the subsets ask for.
type shares struct {
	spec            *v1beta1.UnitedDeploymentSpec
	broken          bool  // some number cannot be read: the sums mean nothing
	fixed, bounded  int   // how many subsets have replicas, or a bound
	capped          int   // how many have maxReplicas
	sumFixed        int64 // of replicas
	sumMin, sumCaps int64 // of minReplicas and maxReplicas
}

func (p *problems) subsetNumbers(path *field.Path, subset *v1beta1.Subset, s *shares) {
	read := func(name string, value *intstr.IntOrString, absent int64) int64 {
		if value == nil {
			return absent
		}
		number, err := subsetReplicas(*value, s.spec.Replicas)
		if err != nil {
			s.broken = true
			p.invalid(path.Child(name), value.String(), err.Error())
		}
		return number
	}
	replicas := read("replicas", subset.Replicas, 0)
	least := read("minReplicas", subset.MinReplicas, 0)
	most := read("maxReplicas", subset.MaxReplicas, unbounded)
	if subset.Replicas != nil {
		s.fixed++
	}
	if subset.MinReplicas != nil || subset.MaxReplicas != nil {
		s.bounded++
	}
	if subset.MaxReplicas != nil {
		s.capped++
	}
	s.sumFixed, s.sumMin, s.sumCaps = s.sumFixed+replicas, s.sumMin+least, s.sumCaps+most
	if least > most && !s.broken {
		p.invalid(path.Child("minReplicas"), subset.MinReplicas.String(), fmt.Sprintf("must not exceed maxReplicas (%d > %d)", least, most))
	}
}

// sums wants the numbers of all subsets to add up.
func (p *problems) sums(path *field.Path, s *shares) {
	switch {
	case s.fixed > 0 && s.bounded > 0:
		p.invalid(path, "", "use either replicas or minReplicas and maxReplicas in all subsets, not both kinds")
	case s.broken:
	case s.bounded > 0:
		p.sumOfBounds(path, s)
	case s.fixed > 0:
		p.sumOfReplicas(path, s)
	}
}

func (p *problems) sumOfBounds(path *field.Path, s *shares) {
	if s.spec.Replicas == nil {
		p.required(field.NewPath("spec", "replicas"), "subsets with minReplicas or maxReplicas share out spec.replicas: set it")
	}
	if s.capped == len(s.spec.Topology.Subsets) {
		p.invalid(path, "", "leave maxReplicas out of at least one subset, which takes what the others may not")
	}
	if s.sumMin > s.sumCaps {
		p.invalid(path, "", fmt.Sprintf("minReplicas add up to %d, more than the %d of maxReplicas: lower some", s.sumMin, s.sumCaps))
	}
}

func (p *problems) sumOfReplicas(path *field.Path, s *shares) {
	all := s.fixed == len(s.spec.Topology.Subsets)
	if s.spec.Replicas == nil {
		if !all {
			p.invalid(path, "", "set spec.replicas, or replicas in every subset")
		}
		return
	}
	switch total := int64(*s.spec.Replicas); {
	case s.sumFixed > total:
		p.invalid(path, "", fmt.Sprintf("replicas of the subsets add up to %d, more than the %d of spec.replicas: lower some or raise it", s.sumFixed, total))
	case all && s.sumFixed != total:
		p.invalid(path, "", fmt.Sprintf("replicas of the subsets add up to %d, not to the %d of spec.replicas: leave one subset without replicas to take the rest", s.sumFixed, total))
	}
}
