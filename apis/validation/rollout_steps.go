// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

func (p *problems) trafficRoutings(path *field.Path, routings []v1beta1.TrafficRoutingRef) {
	for i := range routings {
		at, routing := path.Index(i), &routings[i]
		if routing.Service == "" {
			p.required(at.Child("service"), "name the stable Service")
		}
		if seconds := routing.GracePeriodSeconds; seconds != nil {
			p.notNegative(at.Child("gracePeriodSeconds"), int64(*seconds))
		}
		p.providers(at, routing)
	}
}

func (p *problems) providers(path *field.Path, routing *v1beta1.TrafficRoutingRef) {
	if routing.Ingress == nil && routing.Gateway == nil && len(routing.CustomNetworkRefs) == 0 {
		p.required(path, "set ingress, gateway or customNetworkRefs: traffic could not be moved")
	}
	if routing.Ingress != nil && routing.Ingress.Name == "" {
		p.required(path.Child("ingress", "name"), "name the Ingress")
	}
	if gateway := routing.Gateway; gateway != nil && (gateway.HTTPRouteName == nil || *gateway.HTTPRouteName == "") {
		p.required(path.Child("gateway", "httpRouteName"), "name the HTTPRoute")
	}
	for i := range routing.CustomNetworkRefs {
		p.objectRef(path.Child("customNetworkRefs").Index(i), &routing.CustomNetworkRefs[i])
	}
}

func (p *problems) steps(path *field.Path, steps []v1beta1.CanaryStep, style v1beta1.RollingStyleType, rules rolloutRules) {
	if len(steps) == 0 {
		p.required(path, "say at least one step")
	}
	zero := rules.zeroTraffic || style == v1beta1.BlueGreenRollingStyle
	for i := range steps {
		at, step := path.Index(i), &steps[i]
		sound := p.stepReplicas(at.Child("replicas"), step.Replicas)
		if step.Traffic != nil {
			p.traffic(at.Child("traffic"), *step.Traffic, zero)
		}
		if seconds := step.Pause.Duration; seconds != nil {
			p.notNegative(at.Child("pause", "duration"), int64(*seconds))
		}
		if !sound {
			continue
		}
		if style == v1beta1.PartitionRollingStyle {
			p.partitionLimit(at.Child("replicas"), step, rules.PartitionPercentLimit)
		}
		if i > 0 {
			p.notLess(at.Child("replicas"), steps[i-1].Replicas, step.Replicas)
		}
	}
}

// stepReplicas wants a number above 0, or a whole percentage from 1% to 100%, and says whether it is one.
func (p *problems) stepReplicas(path *field.Path, replicas *intstr.IntOrString) bool {
	if replicas == nil {
		p.required(path, "say how many pods are new at the end of the step")
		return false
	}
	if replicas.Type == intstr.Int {
		if replicas.IntVal <= 0 {
			p.invalid(path, replicas.IntVal, "must be more than 0")
		}
		return replicas.IntVal > 0
	}
	if !p.numberOrPercent(path, replicas, false) {
		return false
	}
	if percent, _ := percentOf(*replicas); percent <= 0 || percent > 100 {
		p.invalid(path, replicas.StrVal, "must be more than 0% and at most 100%")
		return false
	}
	return true
}

func (p *problems) traffic(path *field.Path, traffic string, zero bool) {
	value := intstr.FromString(traffic)
	if !p.numberOrPercent(path, &value, false) {
		return
	}
	if percent, _ := percentOf(value); percent > 100 || percent == 0 && !zero {
		p.invalid(path, traffic, "must be more than 0% and at most 100%")
	}
}

func (p *problems) partitionLimit(path *field.Path, step *v1beta1.CanaryStep, limit int) {
	if step.Traffic == nil && len(step.Matches) == 0 {
		return
	}
	if limit == 0 {
		limit = DefaultPartitionPercentLimit
	}
	if percent, isPercent := percentOf(*step.Replicas); isPercent && percent > float64(limit) {
		p.invalid(path, step.Replicas.StrVal, fmt.Sprintf("must be at most %d%% in a step with traffic or matches: too few old pods would be left to take the traffic back", limit))
	}
}

// notLess compares numbers with numbers and percentages with percentages.
func (p *problems) notLess(path *field.Path, before, now *intstr.IntOrString) {
	if before == nil || before.Type != now.Type {
		return
	}
	less := now.IntVal < before.IntVal
	if now.Type == intstr.String {
		last, sound := percentOf(*before)
		percent, _ := percentOf(*now)
		less = sound && percent < last
	}
	if less {
		p.invalid(path, now.String(), "must not be less than in the step before")
	}
}

// RolloutWarnings says what of a Rollout its ingress controller cannot do: by annotations it matches one header.
func RolloutWarnings(obj *v1beta1.Rollout) []string {
	_, plan := planOf(&obj.Spec.Strategy)
	if len(plan.routings) == 0 || plan.routings[0].Ingress == nil {
		return nil
	}
	var out []string
	warn := func(path *field.Path, text string) { out = append(out, path.String()+": "+text) }
	for i := range plan.steps {
		path, matches := field.NewPath("spec", "strategy", plan.field, "steps").Index(i).Child("matches"), plan.steps[i].Matches
		if len(matches) > 1 {
			warn(path, "an Ingress can have one match: the last one counts")
		}
		for j := range matches {
			if len(matches[j].Headers) > 1 {
				warn(path.Index(j).Child("headers"), "an Ingress can match one header: the first one counts")
			}
			if matches[j].Path != nil || len(matches[j].QueryParams) > 0 && plan.routings[0].Ingress.ClassType != "mse" {
				warn(path.Index(j), "an Ingress cannot match paths or query parameters: they are ignored")
			}
		}
	}
	return out
}

// ValidateTrafficRouting says what is wrong with a TrafficRouting. A nil old means that the object is new.
func ValidateTrafficRouting(old, obj *v1alpha1.TrafficRouting) field.ErrorList {
	p := trafficRouting(obj)
	if old == nil {
		return p.list
	}
	return p.since(trafficRouting(old).list)
}

func trafficRouting(obj *v1alpha1.TrafficRouting) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	if len(obj.Spec.ObjectRef) == 0 {
		p.required(path.Child("objectRef"), "say whose traffic")
	}
	p.trafficRoutings(path.Child("objectRef"), obj.Spec.ObjectRef)
	if weight := obj.Spec.Strategy.Weight; weight != nil {
		p.number(path.Child("strategy", "weight"), int64(*weight), 0, 100, "must be between 0 and 100")
	}
	return p
}

// ValidateBatchRelease says what is wrong with a BatchRelease. A nil old means that the object is new.
func ValidateBatchRelease(old, obj *v1beta1.BatchRelease) field.ErrorList {
	p := batchRelease(obj)
	if old == nil {
		return p.list
	}
	return p.since(batchRelease(old).list)
}

func batchRelease(obj *v1beta1.BatchRelease) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	p.objectRef(path.Child("workloadRef"), &obj.Spec.WorkloadRef)
	release, at := &obj.Spec.ReleasePlan, path.Child("releasePlan")
	for i := range release.Batches {
		p.numberOrPercent(at.Child("batches").Index(i).Child("canaryReplicas"), &release.Batches[i].CanaryReplicas, false)
	}
	if last := release.BatchPartition; last != nil {
		p.notNegative(at.Child("batchPartition"), int64(*last))
	}
	p.numberOrPercent(at.Child("failureThreshold"), release.FailureThreshold, false)
	switch release.FinalizingPolicy {
	case "", v1beta1.ImmediateFinalizingPolicyType, v1beta1.WaitResumeFinalizingPolicyType:
	default:
		oneOf(p, at.Child("finalizingPolicy"), release.FinalizingPolicy, v1beta1.ImmediateFinalizingPolicyType, v1beta1.WaitResumeFinalizingPolicyType)
	}
	return p
}

// ValidateOldBatchRelease is ValidateBatchRelease for an object sent as v1alpha1.
func ValidateOldBatchRelease(old, obj *v1alpha1.BatchRelease) field.ErrorList {
	return converted(old, obj, v1alpha1.Convert_v1alpha1_BatchRelease_To_v1beta1_BatchRelease, ValidateBatchRelease)
}
