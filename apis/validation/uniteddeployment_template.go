// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const noReplicas = "is set by the topology: take it out"

// subsetTemplate wants exactly one kind of template, and a sound one. A CloneSet's own webhook checks
// cloneSetTemplate.
func (p *problems) subsetTemplate(path *field.Path, template *v1beta1.SubsetTemplate, selector labels.Selector) {
	switch setFields(*template) {
	case 1:
	case 0:
		p.required(path, "set one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate and deploymentTemplate")
	default:
		p.invalid(path, "", "set only one of statefulSetTemplate, advancedStatefulSetTemplate, cloneSetTemplate and deploymentTemplate")
	}
	if t := template.StatefulSetTemplate; t != nil {
		at := path.Child("statefulSetTemplate")
		p.selected(at.Child("metadata", "labels"), selector, t.Labels)
		p.statefulSet(at.Child("spec"), &t.Spec, selector)
	}
	if t := template.AdvancedStatefulSetTemplate; t != nil {
		at := path.Child("advancedStatefulSetTemplate")
		p.selected(at.Child("metadata", "labels"), selector, t.Labels)
		p.advancedStatefulSet(at.Child("spec"), &t.Spec, selector)
	}
	if t := template.DeploymentTemplate; t != nil {
		at := path.Child("deploymentTemplate")
		p.selected(at.Child("metadata", "labels"), selector, t.Labels)
		p.noReplicas(at.Child("spec", "replicas"), t.Spec.Replicas)
		p.workloadTemplate(at.Child("spec", "template"), &t.Spec.Template, nil, selector)
	}
}

func (p *problems) noReplicas(path *field.Path, replicas *int32) {
	if replicas != nil {
		p.invalid(path, *replicas, noReplicas)
	}
}

// workloadTemplate wants a pod template that the selector selects and whose pods keep running.
func (p *problems) workloadTemplate(path *field.Path, template *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim, selector labels.Selector) {
	p.selected(path.Child("metadata", "labels"), selector, template.Labels)
	p.podTemplate(path, template, claims)
	p.alwaysRunning(path.Child("spec"), &template.Spec)
}

func (p *problems) statefulSet(path *field.Path, spec *appsv1.StatefulSetSpec, selector labels.Selector) {
	p.noReplicas(path.Child("replicas"), spec.Replicas)
	if spec.PodManagementPolicy != "" {
		oneOf(p, path.Child("podManagementPolicy"), spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)
	}
	p.statefulSetStrategy(path.Child("updateStrategy"), &spec.UpdateStrategy)
	p.notNegative(path.Child("minReadySeconds"), int64(spec.MinReadySeconds))
	if spec.Ordinals != nil {
		p.notNegative(path.Child("ordinals", "start"), int64(spec.Ordinals.Start))
	}
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := path.Child("persistentVolumeClaimRetentionPolicy")
		for _, f := range []named[appsv1.PersistentVolumeClaimRetentionPolicyType]{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
			if f.value != "" {
				oneOf(p, at.Child(f.name), f.value, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
			}
		}
	}
	// The StatefulSet controller sets hostname and subdomain itself.
	template := spec.Template.DeepCopy()
	template.Spec.Hostname, template.Spec.Subdomain = "", ""
	p.workloadTemplate(path.Child("template"), template, spec.VolumeClaimTemplates, selector)
}

func (p *problems) statefulSetStrategy(path *field.Path, strategy *appsv1.StatefulSetUpdateStrategy) {
	rolling := strategy.RollingUpdate
	switch strategy.Type {
	case appsv1.RollingUpdateStatefulSetStrategyType, "":
		if rolling != nil && rolling.Partition != nil {
			p.invalid(path.Child("rollingUpdate", "partition"), *rolling.Partition,
				"is set for each subset by spec.updateStrategy.manualUpdate.partitions: take it out")
		}
		if rolling != nil {
			p.numberOrPercent(path.Child("rollingUpdate", "maxUnavailable"), rolling.MaxUnavailable, false)
		}
	case appsv1.OnDeleteStatefulSetStrategyType:
		if rolling != nil {
			p.invalid(path.Child("rollingUpdate"), "", "cannot be set with type OnDelete: take it out")
		}
	default:
		oneOf(p, path.Child("type"), strategy.Type, appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)
	}
}

func (p *problems) advancedStatefulSet(path *field.Path, spec *v1beta1.StatefulSetSpec, selector labels.Selector) {
	p.noReplicas(path.Child("replicas"), spec.Replicas)
	strategy := &spec.UpdateStrategy
	rolling := strategy.Type == "" || strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType
	if rolling && strategy.RollingUpdate != nil && strategy.RollingUpdate.Partition != nil {
		p.invalid(path.Child("updateStrategy", "rollingUpdate", "partition"), *strategy.RollingUpdate.Partition,
			"is set for each subset by spec.updateStrategy.manualUpdate.partitions: take it out")
	}
	p.selected(path.Child("template", "metadata", "labels"), selector, spec.Template.Labels)
	p.podTemplate(path.Child("template"), &spec.Template, spec.VolumeClaimTemplates)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
