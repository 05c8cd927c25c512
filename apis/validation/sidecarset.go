// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// SidecarSetFacts are what else there is that a SidecarSet is checked against.
type SidecarSetFacts struct {
	// Others are all other SidecarSets.
	Others []v1beta1.SidecarSet
	// Revisions are the ControllerRevisions of the set.
	Revisions []SidecarSetRevision
	// RevisionsUnknown says that Revisions could not be read: any may be named.
	RevisionsUnknown bool
	// WhiteList says which annotations patchPodMetadata may set; nil when there is none.
	WhiteList *v1beta1.SidecarSetPatchMetadataWhiteList
	// MetadataAllowed lets patchPodMetadata pass where no rule of the list speaks of the set (feature gate
	// SidecarSetPatchPodMetadataDefaultsAllowed).
	MetadataAllowed bool
	// PrivilegedDenied refuses privileged containers.
	PrivilegedDenied bool
}

// SidecarSetRevision is one ControllerRevision of a SidecarSet.
type SidecarSetRevision struct {
	// Name of the ControllerRevision.
	Name string
	// CustomVersion it was made of.
	CustomVersion string
}

// ValidateSidecarSet says what is wrong with a SidecarSet, which may come with or without its defaults. A nil
// old means that the object is new; nil facts, that it is checked for itself alone.
func ValidateSidecarSet(old, obj *v1beta1.SidecarSet, facts *SidecarSetFacts) field.ErrorList {
	p := sidecarSet(obj, facts)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if isCanary(obj) && isCanary(old) && obj.Annotations[v1beta1.SidecarSetBaseAnnotation] != old.Annotations[v1beta1.SidecarSetBaseAnnotation] {
		updates.forbidden(annotationPath(v1beta1.SidecarSetBaseAnnotation), "the base of a canary cannot be changed: make another SidecarSet")
	}
	updates.sidecarsUpdate(field.NewPath("spec", "containers"), old.Spec.Containers, obj.Spec.Containers)
	return append(updates.list, p.since(sidecarSet(old, facts).list)...)
}

// ValidateOldSidecarSet is ValidateSidecarSet for an object sent as v1alpha1.
func ValidateOldSidecarSet(old, obj *v1alpha1.SidecarSet, facts *SidecarSetFacts) field.ErrorList {
	return converted(old, obj, v1alpha1.Convert_v1alpha1_SidecarSet_To_v1beta1_SidecarSet,
		func(old, obj *v1beta1.SidecarSet) field.ErrorList { return ValidateSidecarSet(old, obj, facts) })
}

// sidecarSetName is what OpenKruise lets a set be called.
var sidecarSetName = regexp.MustCompile(`^[a-zA-Z0-9-]{1,63}$`)

// sidecarSet checks one SidecarSet, and the others that concern it only when it is sound.
func sidecarSet(obj *v1beta1.SidecarSet, facts *SidecarSetFacts) *problems {
	p := &problems{}
	p.add(apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, func(name string, _ bool) []string {
		if sidecarSetName.MatchString(name) {
			return nil
		}
		return []string{"must be 1 to 63 letters, digits and '-'"}
	}, field.NewPath("metadata")))
	filled := v1beta1.SidecarSet{ObjectMeta: obj.ObjectMeta, Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultSidecarSet(&filled, v1beta1.DefaultOptions{Templates: true})
	spec, path := &filled.Spec, field.NewPath("spec")

	p.selector(path.Child("selector"), spec.Selector)
	if spec.NamespaceSelector != nil {
		p.selector(path.Child("namespaceSelector"), spec.NamespaceSelector)
	}
	p.canary(&filled)
	p.sidecarUpdate(path, spec)
	p.sidecars(path, spec, facts != nil && facts.PrivilegedDenied)
	p.patchMetadata(path.Child("patchPodMetadata"), spec.PatchPodMetadata)
	p.injectRevision(path.Child("injectionStrategy", "revision"), spec.InjectionStrategy.Revision)
	if len(p.list) == 0 && facts != nil {
		p.sidecarFacts(&filled, facts)
	}
	return p
}

func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// isCanary says whether a set takes the place of another.
func isCanary(obj *v1beta1.SidecarSet) bool {
	return obj.Annotations[v1beta1.SidecarSetCanaryAnnotation] == "true" && obj.Annotations[v1beta1.SidecarSetBaseAnnotation] != ""
}

func (p *problems) canary(obj *v1beta1.SidecarSet) {
	if !isCanary(obj) {
		return
	}
	if base := obj.Annotations[v1beta1.SidecarSetBaseAnnotation]; base == obj.Name {
		p.invalid(annotationPath(v1beta1.SidecarSetBaseAnnotation), base, "must name another SidecarSet")
	}
	if kind := obj.Spec.UpdateStrategy.Type; kind != v1beta1.NotUpdateSidecarSetStrategyType {
		p.invalid(field.NewPath("spec", "updateStrategy", "type"), kind, "must be NotUpdate for a canary")
	}
}

func (p *problems) sidecarUpdate(path *field.Path, spec *v1beta1.SidecarSetSpec) {
	strategy := &spec.UpdateStrategy
	at := path.Child("updateStrategy")
	oneOf(p, at.Child("type"), strategy.Type, v1beta1.RollingUpdateSidecarSetStrategyType, v1beta1.NotUpdateSidecarSetStrategyType)
	if strategy.Type != v1beta1.RollingUpdateSidecarSetStrategyType {
		return
	}
	for i := range spec.InitContainers {
		if isNativeSidecar(&spec.InitContainers[i].Container) {
			p.invalid(path.Child("initContainers").Index(i).Child("restartPolicy"), corev1.ContainerRestartPolicyAlways,
				"cannot be updated in place: set updateStrategy.type to NotUpdate")
		}
	}
	if strategy.Selector != nil {
		p.selector(at.Child("selector"), strategy.Selector)
		if strategy.Partition.Type == intstr.String || strategy.Partition.IntVal != 0 {
			p.invalid(at.Child("partition"), strategy.Partition.String(), "cannot be set together with selector: keep one of the two")
		}
	}
	p.numberOrPercent(at.Child("partition"), strategy.Partition, false)
	p.numberOrPercent(at.Child("maxUnavailable"), strategy.MaxUnavailable, false)
	p.priority(at.Child("priorityStrategy"), strategy.PriorityStrategy)
	p.scatter(at.Child("scatterStrategy"), strategy.ScatterStrategy)
}

func isNativeSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (p *problems) patchMetadata(path *field.Path, groups []v1beta1.SidecarSetPatchPodMetadata) {
	seen := map[string]bool{}
	for i := range groups {
		at := path.Index(i)
		if len(groups[i].Annotations) == 0 {
			p.required(at.Child("annotations"), "name at least one annotation")
		}
		p.add(apivalidation.ValidateAnnotations(groups[i].Annotations, at.Child("annotations")))
		oneOf(p, at.Child("patchPolicy"), groups[i].PatchPolicy, v1beta1.SidecarSetRetainPatchPolicy,
			v1beta1.SidecarSetOverwritePatchPolicy, v1beta1.SidecarSetMergePatchJSONPatchPolicy)
		for _, key := range sortedKeys(groups[i].Annotations) {
			unique(p, seen, at.Child("annotations").Key(key), key)
		}
	}
}

func (p *problems) injectRevision(path *field.Path, revision *v1beta1.SidecarSetInjectRevision) {
	if revision == nil {
		return
	}
	if revision.CustomVersion == nil && revision.RevisionName == nil {
		p.required(path, "set revisionName or customVersion")
	}
	oneOf(p, path.Child("policy"), revision.Policy, v1beta1.AlwaysSidecarSetInjectRevisionPolicy, v1beta1.PartialSidecarSetInjectRevisionPolicy)
}
