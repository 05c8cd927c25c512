// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// WorkloadSpreadContext is what has to be known of a cluster to judge a WorkloadSpread. Its zero value
// judges the object alone.
type WorkloadSpreadContext struct {
	// Others are the WorkloadSpreads of the namespace; the object itself may be among them.
	Others []v1beta1.WorkloadSpread
	// Allowed are the kinds of workloads that the administrator allowed besides those that are known.
	Allowed []schema.GroupKind
	// Template is the pod template of the target, nil when there is no such workload: patches are tried
	// on it.
	Template *corev1.PodTemplateSpec
	// Claims are the claim templates of the target.
	Claims []corev1.PersistentVolumeClaim
}

// rescheduleWindowSeconds is shared by the subsets: each gets its turn before the first is tried again.
const rescheduleWindowSeconds = 295

// knownTargets are the groups that a known kind of workload is found in.
var knownTargets = map[string][]string{
	"CloneSet":    {"apps.kruise.io"},
	"Deployment":  {"apps"},
	"ReplicaSet":  {"apps"},
	"Job":         {"batch"},
	"StatefulSet": {"apps", "apps.kruise.io"},
}

// ValidateWorkloadSpread says what is wrong with a WorkloadSpread. A nil old means that the object is new.
func ValidateWorkloadSpread(old, obj *v1beta1.WorkloadSpread, context WorkloadSpreadContext) field.ErrorList {
	p := workloadSpread(obj, context)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if before, after := old.Spec.TargetReference, obj.Spec.TargetReference; before != nil && after != nil && !sameWorkload(parts(before), parts(after)) {
		updates.forbidden(field.NewPath("spec", "targetRef"), "only the version in apiVersion can be changed: make another WorkloadSpread")
	}
	return append(updates.list, p.since(workloadSpread(old, context).list)...)
}

// ValidateOldWorkloadSpread is ValidateWorkloadSpread for an object sent as v1alpha1. Complaints name the
// fields as that version has them.
func ValidateOldWorkloadSpread(old, obj *v1alpha1.WorkloadSpread, context WorkloadSpreadContext) field.ErrorList {
	return ofOldSpread(old, obj, func(before, stored *v1beta1.WorkloadSpread) field.ErrorList {
		return ValidateWorkloadSpread(before, stored, context)
	})
}

// ofOldSpread judges an object sent as v1alpha1 by the rules for the stored version.
func ofOldSpread(old, obj *v1alpha1.WorkloadSpread, rules func(old, obj *v1beta1.WorkloadSpread) field.ErrorList) field.ErrorList {
	stored, before := &v1beta1.WorkloadSpread{}, (*v1beta1.WorkloadSpread)(nil)
	if err := v1alpha1.Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread(obj, stored, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old != nil {
		before = &v1beta1.WorkloadSpread{}
		if err := v1alpha1.Convert_v1alpha1_WorkloadSpread_To_v1beta1_WorkloadSpread(old, before, nil); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	list := rules(before, stored)
	for _, problem := range list {
		problem.Field = strings.Replace(problem.Field, "].requiredNodeSelector", "].requiredNodeSelectorTerm", 1)
		problem.Field = strings.Replace(problem.Field, "].preferredNodeSelector", "].preferredNodeSelectorTerms", 1)
	}
	return list
}

func parts(ref *v1beta1.TargetReference) [3]string {
	return [3]string{ref.APIVersion, ref.Kind, ref.Name}
}

// workloadSpread checks one WorkloadSpread among others.
func workloadSpread(obj *v1beta1.WorkloadSpread, context WorkloadSpreadContext) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	spec, path := &obj.Spec, field.NewPath("spec")
	p.spreadTarget(path.Child("targetRef"), obj, context)
	if spec.TargetFilter != nil && spec.TargetFilter.Selector != nil {
		lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
		p.add(metav1validation.ValidateLabelSelector(spec.TargetFilter.Selector, lenient, path.Child("targetFilter", "selector")))
	}
	if len(spec.Subsets) == 0 {
		p.required(path.Child("subsets"), "name at least one subset")
	}
	names := map[string]bool{}
	for i := range spec.Subsets {
		p.spreadSubset(path.Child("subsets").Index(i), &spec.Subsets[i], names)
		p.spreadPatch(path.Child("subsets").Index(i).Child("patch"), spec.Subsets[i].Patch.Raw, context)
	}
	p.spreadLimits(path.Child("subsets"), spec)
	p.spreadStrategy(path.Child("scheduleStrategy"), spec)
	return p
}

func (p *problems) spreadTarget(path *field.Path, obj *v1beta1.WorkloadSpread, context WorkloadSpreadContext) {
	ref := obj.Spec.TargetReference
	if ref == nil {
		p.required(path, "name the workload whose pods are spread")
		return
	}
	target, complete := p.workloadOf(path, ref.APIVersion, ref.Kind, ref.Name)
	if !complete {
		return
	}
	groups, known := knownTargets[target.kind]
	switch {
	case known && !isOneOf(target.group, groups):
		p.invalid(path.Child("apiVersion"), ref.APIVersion, fmt.Sprintf("must be of group %s for kind %s", strings.Join(groups, " or "), target.kind))
	case !known && !target.among(context.Allowed):
		p.invalid(path, target.kind+"."+target.group, "is not a kind of workload that can be spread: an administrator may add it to "+
			v1beta1.WorkloadSpreadWhiteListKey+" in ConfigMap "+v1beta1.ConfigurationName)
	}
	p.spreadOnce(path, obj, context.Others)
}

// spreadOnce wants no other WorkloadSpread for the same workload.
func (p *problems) spreadOnce(path *field.Path, obj *v1beta1.WorkloadSpread, others []v1beta1.WorkloadSpread) {
	mine := parts(obj.Spec.TargetReference)
	for i := range others {
		other := &others[i]
		if other.Name == obj.Name || other.Namespace != obj.Namespace || other.Spec.TargetReference == nil {
			continue
		}
		if sameWorkload(parts(other.Spec.TargetReference), mine) {
			p.invalid(path, obj.Spec.TargetReference.Name, "is spread by WorkloadSpread "+other.Name+" already: change that one")
		}
	}
}

func isOneOf(value string, list []string) bool {
	for _, candidate := range list {
		if value == candidate {
			return true
		}
	}
	return false
}

func (p *problems) spreadSubset(path *field.Path, subset *v1beta1.WorkloadSpreadSubset, names map[string]bool) {
	if subset.Name == "" {
		p.invalid(path.Child("name"), "", "name the subset")
	}
	unique(p, names, path.Child("name"), subset.Name)
	if subset.RequiredNodeSelector != nil {
		p.spreadTerm(path.Child("requiredNodeSelector"), subset.RequiredNodeSelector)
	}
	for i := range subset.PreferredNodeSelector {
		at := path.Child("preferredNodeSelector").Index(i)
		p.weight(at, subset.PreferredNodeSelector[i].Weight)
		p.spreadTerm(at.Child("preference"), &subset.PreferredNodeSelector[i].Preference)
	}
	p.tolerations(path.Child("tolerations"), subset.Tolerations)
}

// spreadTerm also wants values that a label can have.
func (p *problems) spreadTerm(path *field.Path, term *corev1.NodeSelectorTerm) {
	p.nodeSelectorTerm(path, term)
	for i := range term.MatchExpressions {
		requirement := &term.MatchExpressions[i]
		if requirement.Operator != corev1.NodeSelectorOpIn && requirement.Operator != corev1.NodeSelectorOpNotIn {
			continue
		}
		for j, value := range requirement.Values {
			p.check(path.Child("matchExpressions").Index(i).Child("values").Index(j), value, validation.IsValidLabelValue(value))
		}
	}
}

func (p *problems) spreadStrategy(path *field.Path, spec *v1beta1.WorkloadSpreadSpec) {
	strategy := &spec.ScheduleStrategy
	if strategy.Type != "" {
		oneOf(p, path.Child("type"), strategy.Type, v1beta1.AdaptiveWorkloadSpreadScheduleStrategyType, v1beta1.FixedWorkloadSpreadScheduleStrategyType)
	}
	if strategy.Adaptive == nil {
		return
	}
	if strategy.Type != v1beta1.AdaptiveWorkloadSpreadScheduleStrategyType {
		p.invalid(path.Child("type"), strategy.Type, "must be Adaptive when adaptive is set")
	}
	count := len(spec.Subsets)
	if count > 1 && spec.Subsets[count-1].MaxReplicas != nil {
		p.invalid(field.NewPath("spec", "subsets").Index(count-1).Child("maxReplicas"), spec.Subsets[count-1].MaxReplicas.String(),
			"must not be set in the last subset when adaptive is: it takes the pods that the others cannot schedule")
	}
	if seconds := strategy.Adaptive.RescheduleCriticalSeconds; seconds != nil {
		most := int64(math.MaxInt32)
		if count > 1 {
			most = int64(rescheduleWindowSeconds / (count - 1))
		}
		p.number(path.Child("adaptive", "rescheduleCriticalSeconds"), int64(*seconds), 0, most, fmt.Sprintf("must be between 0 and %d seconds with %d subsets", most, count))
	}
}
