// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scheduling checks what a pod asks of its node.
func (p *problems) scheduling(path *field.Path, spec *corev1.PodSpec) {
	p.add(metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")))
	p.tolerations(path.Child("tolerations"), spec.Tolerations)
	p.spread(path.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints)
	if spec.Affinity == nil {
		return
	}
	path = path.Child("affinity")
	p.nodeAffinity(path.Child("nodeAffinity"), spec.Affinity.NodeAffinity)
	if affinity := spec.Affinity.PodAffinity; affinity != nil {
		p.podAffinity(path.Child("podAffinity"), affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := spec.Affinity.PodAntiAffinity; affinity != nil {
		p.podAffinity(path.Child("podAntiAffinity"), affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (p *problems) nodeAffinity(path *field.Path, affinity *corev1.NodeAffinity) {
	if affinity == nil {
		return
	}
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			p.required(at, "give at least one term")
		}
		for i := range required.NodeSelectorTerms {
			p.nodeSelectorTerm(at.Index(i), &required.NodeSelectorTerms[i])
		}
	}
	for i := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		preferred := &affinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		p.weight(at, preferred.Weight)
		p.nodeSelectorTerm(at.Child("preference"), &preferred.Preference)
	}
}

func (p *problems) weight(path *field.Path, weight int32) {
	p.number(path.Child("weight"), int64(weight), 1, 100, "must be between 1 and 100")
}

// nodeSelectorTerm checks the shape of a term. Values that no label can have are let through: they
// match no node, as in Kubernetes.
func (p *problems) nodeSelectorTerm(path *field.Path, term *corev1.NodeSelectorTerm) {
	for i := range term.MatchExpressions {
		at, requirement := path.Child("matchExpressions").Index(i), &term.MatchExpressions[i]
		p.add(metav1validation.ValidateLabelName(requirement.Key, at.Child("key")))
		p.nodeSelectorValues(at, requirement)
	}
	for i := range term.MatchFields {
		at, requirement := path.Child("matchFields").Index(i), &term.MatchFields[i]
		oneOf(p, at.Child("key"), requirement.Key, metav1.ObjectNameField)
		oneOf(p, at.Child("operator"), requirement.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		if len(requirement.Values) != 1 {
			p.required(at.Child("values"), "give exactly one node name")
		}
		for j, value := range requirement.Values {
			p.check(at.Child("values").Index(j), value, apivalidation.NameIsDNSSubdomain(value, false))
		}
	}
}

func (p *problems) nodeSelectorValues(path *field.Path, requirement *corev1.NodeSelectorRequirement) {
	values := path.Child("values")
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(requirement.Values) == 0 {
			p.required(values, "operators In and NotIn need at least one value")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(requirement.Values) > 0 {
			p.forbidden(values, "operators Exists and DoesNotExist take no values")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(requirement.Values) != 1 {
			p.required(values, "operators Gt and Lt need exactly one value")
		}
	default:
		oneOf(p, path.Child("operator"), requirement.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
	}
}

func (p *problems) podAffinity(path *field.Path, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
	for i := range required {
		p.podAffinityTerm(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i), &required[i])
	}
	for i := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		p.weight(at, preferred[i].Weight)
		p.podAffinityTerm(at.Child("podAffinityTerm"), &preferred[i].PodAffinityTerm)
	}
}

func (p *problems) podAffinityTerm(path *field.Path, term *corev1.PodAffinityTerm) {
	p.topologyKey(path.Child("topologyKey"), term.TopologyKey)
	lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	p.add(metav1validation.ValidateLabelSelector(term.LabelSelector, lenient, path.Child("labelSelector")))
	p.add(metav1validation.ValidateLabelSelector(term.NamespaceSelector, lenient, path.Child("namespaceSelector")))
	for i, namespace := range term.Namespaces {
		p.check(path.Child("namespaces").Index(i), namespace, utilvalidation.IsDNS1123Label(namespace))
	}
}

func (p *problems) topologyKey(path *field.Path, key string) {
	if key == "" {
		p.required(path, "say which node label makes a domain")
		return
	}
	p.add(metav1validation.ValidateLabelName(key, path))
}

func (p *problems) tolerations(path *field.Path, tolerations []corev1.Toleration) {
	for i := range tolerations {
		at, toleration := path.Index(i), &tolerations[i]
		if toleration.Key != "" {
			p.add(metav1validation.ValidateLabelName(toleration.Key, at.Child("key")))
		} else if toleration.Operator != corev1.TolerationOpExists {
			p.invalid(at.Child("operator"), toleration.Operator, "must be Exists when key is empty")
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			p.invalid(at.Child("effect"), toleration.Effect, "must be NoExecute when tolerationSeconds is set")
		}
		if toleration.Effect != "" {
			oneOf(p, at.Child("effect"), toleration.Effect,
				corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		}
		p.tolerationValue(at, toleration)
	}
}

func (p *problems) tolerationValue(path *field.Path, toleration *corev1.Toleration) {
	switch toleration.Operator {
	case corev1.TolerationOpEqual, "":
		p.check(path.Child("value"), toleration.Value, utilvalidation.IsValidLabelValue(toleration.Value))
	case corev1.TolerationOpExists:
		if toleration.Value != "" {
			p.invalid(path.Child("value"), toleration.Value, "must be empty when operator is Exists")
		}
	case corev1.TolerationOpGt, corev1.TolerationOpLt: // newer API servers know these and check them
	default:
		oneOf(p, path.Child("operator"), toleration.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
	}
}

func (p *problems) spread(path *field.Path, constraints []corev1.TopologySpreadConstraint) {
	seen := map[[2]string]bool{}
	for i := range constraints {
		at, constraint := path.Index(i), &constraints[i]
		if constraint.MaxSkew < 1 {
			p.invalid(at.Child("maxSkew"), constraint.MaxSkew, "must be 1 or more")
		}
		if constraint.TopologyKey == "" {
			p.required(at.Child("topologyKey"), "say which node label makes a domain")
		}
		oneOf(p, at.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		unique(p, seen, at, [2]string{constraint.TopologyKey, string(constraint.WhenUnsatisfiable)})
		if domains := constraint.MinDomains; domains != nil {
			if *domains < 1 {
				p.invalid(at.Child("minDomains"), *domains, "must be 1 or more")
			}
			if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
				p.invalid(at.Child("minDomains"), *domains, "counts only with whenUnsatisfiable DoNotSchedule: take it out")
			}
		}
	}
}
