// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// DefaultPartitionPercentLimit is the default of RolloutFacts.PartitionPercentLimit.
const DefaultPartitionPercentLimit = 50

// RolloutFacts are what a Rollout is checked against.
type RolloutFacts struct {
	// PartitionPercentLimit is the largest percentage of replicas of a step with traffic, where old and new
	// pods are in one workload: more would leave too few old pods to take the traffic back. 0 means 50.
	PartitionPercentLimit int
	// AnyWorkload lets in kinds that nobody knows.
	AnyWorkload bool
	// Others are the other Rollouts of the namespace.
	Others []v1beta1.Rollout
}

// ValidateRollout says what is wrong with a Rollout. A nil old means that the object is new.
func ValidateRollout(old, obj *v1beta1.Rollout, facts RolloutFacts) field.ErrorList {
	return validateRollout(old, obj, rolloutRules{RolloutFacts: facts})
}

// ValidateOldRollout is ValidateRollout for an object sent as v1alpha1, with the rules that only that version
// has. Complaints name fields as v1beta1 has them, besides weight and annotations.
func ValidateOldRollout(old, obj *v1alpha1.Rollout, facts RolloutFacts) field.ErrorList {
	p := oldRollout(obj)
	list := p.list
	if old != nil {
		list = p.since(oldRollout(old).list)
	}
	return append(list, converted(old, obj, v1alpha1.Convert_v1alpha1_Rollout_To_v1beta1_Rollout, func(old, obj *v1beta1.Rollout) field.ErrorList {
		return validateRollout(old, obj, rolloutRules{RolloutFacts: facts, zeroTraffic: true})
	})...)
}

// rolloutRules are facts and how one version reads them.
type rolloutRules struct {
	RolloutFacts
	// zeroTraffic lets a step say that no traffic goes to the new pods.
	zeroTraffic bool
}

func validateRollout(old, obj *v1beta1.Rollout, rules rolloutRules) field.ErrorList {
	p := rollout(obj, rules)
	if old == nil {
		return p.list
	}
	updates := problems{}
	if underWay[old.Status.Phase] {
		updates.rolloutUpdate(&old.Spec, &obj.Spec)
	}
	return append(updates.list, p.since(rollout(old, rules).list)...)
}

// underWay are the phases in which a workload is held.
var underWay = map[v1beta1.RolloutPhase]bool{
	v1beta1.RolloutPhaseProgressing: true, v1beta1.RolloutPhaseTerminating: true, v1beta1.RolloutPhaseDisabling: true,
}

// rolloutUpdate wants what must not change while a release is under way.
func (p *problems) rolloutUpdate(old, spec *v1beta1.RolloutSpec) {
	const why = "cannot be changed while a release is under way: wait for its end, or roll back"
	path := field.NewPath("spec")
	if old.WorkloadRef != spec.WorkloadRef {
		p.forbidden(path.Child("workloadRef"), why)
	}
	oldStyle, oldPlan := planOf(&old.Strategy)
	style, plan := planOf(&spec.Strategy)
	if oldStyle != style {
		p.forbidden(path.Child("strategy"), "the rolling style "+why)
		return
	}
	if !equality.Semantic.DeepEqual(oldPlan.routings, plan.routings) {
		p.forbidden(path.Child("strategy", plan.field, "trafficRoutings"), why)
	}
	if len(oldPlan.steps) != len(plan.steps) {
		p.forbidden(path.Child("strategy", plan.field, "steps"), "the number of steps "+why)
	}
}

// plan is what both strategies have.
type plan struct {
	field    string
	steps    []v1beta1.CanaryStep
	routings []v1beta1.TrafficRoutingRef
}

// planOf returns the style and the steps of a strategy; canary wins where both are there.
func planOf(strategy *v1beta1.RolloutStrategy) (v1beta1.RollingStyleType, plan) {
	switch {
	case strategy.Canary != nil:
		style := v1beta1.PartitionRollingStyle
		if strategy.Canary.EnableExtraWorkloadForCanary {
			style = v1beta1.CanaryRollingStyle
		}
		return style, plan{"canary", strategy.Canary.Steps, strategy.Canary.TrafficRoutings}
	case strategy.BlueGreen != nil:
		return v1beta1.BlueGreenRollingStyle, plan{"blueGreen", strategy.BlueGreen.Steps, strategy.BlueGreen.TrafficRoutings}
	default:
		return v1beta1.EmptyRollingStyle, plan{}
	}
}

var (
	deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	cloneSetGK = schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}
	daemonSet  = schema.GroupKind{Group: "apps.kruise.io", Kind: "DaemonSet"}
)

// releasable are the kinds that a Rollout can release.
var releasable = map[schema.GroupKind]bool{
	deployment: true, cloneSetGK: true, daemonSet: true,
	{Group: "apps", Kind: "ReplicaSet"}: true, {Group: "apps", Kind: "StatefulSet"}: true, {Group: "apps", Kind: "DaemonSet"}: true,
	{Group: "apps.kruise.io", Kind: "StatefulSet"}: true,
}

func groupKindOf(ref *v1beta1.ObjectRef) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

func rollout(obj *v1beta1.Rollout, rules rolloutRules) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	strategy := &obj.Spec.Strategy
	p.releasable(path.Child("workloadRef"), obj, rules)
	if (strategy.Canary == nil) == (strategy.BlueGreen == nil) {
		p.required(path.Child("strategy"), "set exactly one of canary and blueGreen")
		return p
	}
	style, plan := planOf(strategy)
	at, kind := path.Child("strategy", plan.field), groupKindOf(&obj.Spec.WorkloadRef)
	if style == v1beta1.BlueGreenRollingStyle && kind != deployment && kind != cloneSetGK {
		p.forbidden(at, "only a Deployment or a CloneSet can be released blue-green: use canary")
	}
	if kind == daemonSet && len(plan.routings) > 0 {
		p.forbidden(at.Child("trafficRoutings"), "traffic cannot be moved for an Advanced DaemonSet, whose old pods carry no revision: take them out")
	}
	if len(plan.routings) > 1 {
		p.list = append(p.list, field.TooMany(at.Child("trafficRoutings"), len(plan.routings), 1))
	}
	p.trafficRoutings(at.Child("trafficRoutings"), plan.routings)
	p.steps(at.Child("steps"), plan.steps, style, rules)
	return p
}

// releasable wants a workload that can be released, by this Rollout alone.
func (p *problems) releasable(path *field.Path, obj *v1beta1.Rollout, rules rolloutRules) {
	ref := &obj.Spec.WorkloadRef
	if !p.objectRef(path, ref) {
		return
	}
	if !rules.AnyWorkload && !releasable[groupKindOf(ref)] {
		p.invalid(path, ref.APIVersion+" "+ref.Kind, "cannot be released: name a Deployment, StatefulSet, DaemonSet, ReplicaSet of apps, or a CloneSet, StatefulSet, DaemonSet of apps.kruise.io")
	}
	for i := range rules.Others {
		other := &rules.Others[i]
		theirs := &other.Spec.WorkloadRef
		if other.Name != obj.Name && theirs.Name == ref.Name && groupKindOf(theirs) == groupKindOf(ref) {
			p.invalid(path, ref.Name, "is released by Rollout "+other.Name+" already: a workload has one Rollout")
		}
	}
}

// objectRef wants a whole reference and says whether it is one.
func (p *problems) objectRef(path *field.Path, ref *v1beta1.ObjectRef) bool {
	whole := true
	for _, f := range []named[string]{{"apiVersion", ref.APIVersion}, {"kind", ref.Kind}, {"name", ref.Name}} {
		if f.value == "" {
			p.required(path.Child(f.name), "name the object in full")
			whole = false
		}
	}
	return whole
}

// oldRollout holds the rules that only v1alpha1 has.
func oldRollout(obj *v1alpha1.Rollout) *problems {
	p := &problems{}
	if style := obj.Annotations[v1beta1.RolloutStyleAnnotation]; style != "" {
		if lower := strings.ToLower(style); lower != "canary" && lower != "partition" {
			p.list = append(p.list, field.NotSupported(annotationPath(v1beta1.RolloutStyleAnnotation), style, []string{"canary", "partition"}))
		}
	}
	canary := obj.Spec.Strategy.Canary
	if canary == nil {
		return p
	}
	last := int32(0)
	for i := range canary.Steps {
		path, step := field.NewPath("spec", "strategy", "canary", "steps").Index(i), &canary.Steps[i]
		if step.Weight == nil {
			continue
		}
		if *step.Weight < last && len(canary.TrafficRoutings) > 0 {
			p.invalid(path.Child("weight"), *step.Weight, "must not be less than in the step before")
		}
		last = *step.Weight
	}
	return p
}
