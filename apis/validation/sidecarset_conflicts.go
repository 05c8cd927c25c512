// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// sidecarFacts checks a set, which is sound for itself, against what else there is.
func (p *problems) sidecarFacts(obj *v1beta1.SidecarSet, facts *SidecarSetFacts) {
	base := ""
	if isCanary(obj) {
		base = obj.Annotations[v1beta1.SidecarSetBaseAnnotation]
		p.base(base, facts.Others)
	}
	if !facts.RevisionsUnknown {
		p.revisionFound(field.NewPath("spec", "injectionStrategy", "revision"), obj.Spec.InjectionStrategy.Revision, facts.Revisions)
	}
	p.whiteListed(obj, facts)
	for i := range facts.Others {
		other := &facts.Others[i]
		if other.Name == obj.Name || other.Name == base || !meet(obj, other) {
			continue
		}
		p.conflicts(field.NewPath("spec"), obj, other)
	}
}

func (p *problems) base(name string, others []v1beta1.SidecarSet) {
	path := annotationPath(v1beta1.SidecarSetBaseAnnotation)
	for i := range others {
		if others[i].Name != name {
			continue
		}
		if isCanary(&others[i]) {
			p.invalid(path, name, "is a canary itself: name a SidecarSet that is none")
		}
		return
	}
	p.list = append(p.list, field.NotFound(path, name))
}

func (p *problems) revisionFound(path *field.Path, revision *v1beta1.SidecarSetInjectRevision, revisions []SidecarSetRevision) {
	if revision == nil {
		return
	}
	if revision.RevisionName != nil {
		if !slices.ContainsFunc(revisions, func(r SidecarSetRevision) bool { return r.Name == *revision.RevisionName }) {
			p.list = append(p.list, field.NotFound(path.Child("revisionName"), *revision.RevisionName))
		}
		return
	}
	if !slices.ContainsFunc(revisions, func(r SidecarSetRevision) bool { return r.CustomVersion == *revision.CustomVersion }) {
		p.list = append(p.list, field.NotFound(path.Child("customVersion"), *revision.CustomVersion))
	}
}

// whiteListed wants every annotation allowed by a rule that speaks of the set.
func (p *problems) whiteListed(obj *v1beta1.SidecarSet, facts *SidecarSetFacts) {
	path := field.NewPath("spec", "patchPodMetadata")
	if len(obj.Spec.PatchPodMetadata) == 0 {
		return
	}
	if facts.WhiteList == nil {
		if !facts.MetadataAllowed {
			p.forbidden(path, "SidecarSet patch metadata whitelist not found: an administrator must allow annotations in ConfigMap kruise-configuration")
		}
		return
	}
	expressions := allowedExpressions(facts.WhiteList, obj.Labels)
	if len(expressions) == 0 {
		if !facts.MetadataAllowed {
			p.forbidden(path, "sidecarSet patch metadata annotation is not allowed: an administrator must allow annotations in ConfigMap kruise-configuration")
		}
		return
	}
	for i := range obj.Spec.PatchPodMetadata {
		for _, key := range sortedKeys(obj.Spec.PatchPodMetadata[i].Annotations) {
			if !slices.ContainsFunc(expressions, func(e *regexp.Regexp) bool { return e.MatchString(key) }) {
				p.forbidden(path.Index(i).Child("annotations").Key(key), "sidecarSet patch metadata annotation("+key+") is not allowed: an administrator must allow it in ConfigMap kruise-configuration")
			}
		}
	}
}

// allowedExpressions are those of the rules that speak of a set with such labels; broken ones allow nothing.
func allowedExpressions(list *v1beta1.SidecarSetPatchMetadataWhiteList, set map[string]string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, rule := range list.Rules {
		if rule.Selector != nil {
			selector, err := metav1.LabelSelectorAsSelector(rule.Selector)
			if err != nil || !selector.Matches(labels.Set(set)) {
				continue
			}
		}
		for _, text := range rule.AllowedAnnotationKeyExprs {
			if expression, err := regexp.Compile(text); err == nil {
				out = append(out, expression)
			}
		}
	}
	return out
}

// meet says whether two sets may match one pod.
func meet(a, b *v1beta1.SidecarSet) bool {
	if a.Spec.NamespaceSelector != nil && b.Spec.NamespaceSelector != nil && !overlap(a.Spec.NamespaceSelector, b.Spec.NamespaceSelector) {
		return false
	}
	return a.Spec.Selector == nil || b.Spec.Selector == nil || overlap(a.Spec.Selector, b.Spec.Selector)
}

// conflicts complains of what two sets for one pod cannot both bring.
func (p *problems) conflicts(path *field.Path, obj, other *v1beta1.SidecarSet) {
	clash := func(at *field.Path, name string) {
		p.invalid(at, name, fmt.Sprintf("container %s already exist in %s, which matches the same pods: choose another name or narrower selectors", name, other.Name))
	}
	for i := range obj.Spec.InitContainers {
		if name := obj.Spec.InitContainers[i].Name; hasContainer(other.Spec.InitContainers, name) {
			clash(path.Child("initContainers").Index(i).Child("name"), name)
		}
	}
	for i := range obj.Spec.Containers {
		if name := obj.Spec.Containers[i].Name; hasContainer(other.Spec.Containers, name) {
			clash(path.Child("containers").Index(i).Child("name"), name)
		}
	}
	p.volumeConflicts(path.Child("volumes"), obj.Spec.Volumes, other)
	p.metadataConflicts(path.Child("patchPodMetadata"), obj.Spec.PatchPodMetadata, other)
}

func hasContainer(containers []v1beta1.SidecarContainer, name string) bool {
	return slices.ContainsFunc(containers, func(c v1beta1.SidecarContainer) bool { return c.Name == name })
}

func (p *problems) volumeConflicts(path *field.Path, volumes []corev1.Volume, other *v1beta1.SidecarSet) {
	theirs := v1beta1.SidecarSet{Spec: v1beta1.SidecarSetSpec{Volumes: other.DeepCopy().Spec.Volumes}}
	v1beta1.DefaultSidecarSet(&theirs, v1beta1.DefaultOptions{Templates: true})
	for i := range volumes {
		for j := range theirs.Spec.Volumes {
			if volumes[i].Name == theirs.Spec.Volumes[j].Name && !equality.Semantic.DeepEqual(volumes[i], theirs.Spec.Volumes[j]) {
				p.invalid(path.Index(i).Child("name"), volumes[i].Name, "is another volume in SidecarSet "+other.Name+", which matches the same pods: choose another name")
			}
		}
	}
}

func (p *problems) metadataConflicts(path *field.Path, groups []v1beta1.SidecarSetPatchPodMetadata, other *v1beta1.SidecarSet) {
	for i := range groups {
		for _, key := range sortedKeys(groups[i].Annotations) {
			for j := range other.Spec.PatchPodMetadata {
				theirs := &other.Spec.PatchPodMetadata[j]
				if _, found := theirs.Annotations[key]; found && policiesClash(groups[i].PatchPolicy, theirs.PatchPolicy) {
					p.invalid(path.Index(i).Child("annotations").Key(key), key, "is set by SidecarSet "+other.Name+" as well, which matches the same pods: let one of them retain what is there")
				}
			}
		}
	}
}

// policiesClash: one overwrites what the other sets.
func policiesClash(a, b v1beta1.SidecarSetPatchPolicyType) bool {
	retain := func(policy v1beta1.SidecarSetPatchPolicyType) bool {
		return policy == "" || policy == v1beta1.SidecarSetRetainPatchPolicy
	}
	return !retain(a) && !retain(b) && (a == v1beta1.SidecarSetOverwritePatchPolicy || b == v1beta1.SidecarSetOverwritePatchPolicy)
}
