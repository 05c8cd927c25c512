// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateResourceDistribution says what is wrong with a ResourceDistribution. A nil old means that the
// object is new. Objects of other versions are converted first. Whether the API server takes the resource,
// it alone can say: admission has to try that besides.
func ValidateResourceDistribution(old, obj *v1beta1.ResourceDistribution) field.ErrorList {
	p := resourceDistribution(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec", "resource")
	before, beforeErr := distributed(old.Spec.Resource.Raw)
	after, afterErr := distributed(obj.Spec.Resource.Raw)
	if beforeErr == nil && afterErr == nil {
		const another = "cannot be changed: make another ResourceDistribution"
		for _, f := range []struct {
			path    *field.Path
			was, is string
		}{
			{path.Child("apiVersion"), before.APIVersion, after.APIVersion},
			{path.Child("kind"), before.Kind, after.Kind},
			{path.Child("metadata", "name"), before.Name, after.Name},
		} {
			if f.was != f.is {
				updates.forbidden(f.path, another)
			}
		}
	}
	return append(updates.list, p.since(resourceDistribution(old).list)...)
}

// ValidateOldResourceDistribution is ValidateResourceDistribution for an object sent as v1alpha1. Complaints
// name the fields as that version has them.
func ValidateOldResourceDistribution(old, obj *v1alpha1.ResourceDistribution) field.ErrorList {
	stored, before := &v1beta1.ResourceDistribution{}, (*v1beta1.ResourceDistribution)(nil)
	if err := v1alpha1.Convert_v1alpha1_ResourceDistribution_To_v1beta1_ResourceDistribution(obj, stored, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old != nil {
		before = &v1beta1.ResourceDistribution{}
		if err := v1alpha1.Convert_v1alpha1_ResourceDistribution_To_v1beta1_ResourceDistribution(old, before, nil); err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
	}
	list := ValidateResourceDistribution(before, stored)
	for _, problem := range list {
		problem.Field = strings.Replace(problem.Field, ".namespaceSelector", ".namespaceLabelSelector", 1)
	}
	return list
}

// distributed reads what there is to be known of the resource.
func distributed(raw []byte) (*metav1.PartialObjectMetadata, error) {
	out := &metav1.PartialObjectMetadata{}
	return out, json.Unmarshal(raw, out)
}

// resourceDistribution checks one ResourceDistribution for itself.
func resourceDistribution(obj *v1beta1.ResourceDistribution) *problems {
	p := &problems{}
	p.add(apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")))
	path := field.NewPath("spec")
	p.distributedResource(path.Child("resource"), obj.Spec.Resource.Raw)
	p.distributionTargets(path.Child("targets"), &obj.Spec.Targets)
	return p
}

func (p *problems) distributedResource(path *field.Path, raw []byte) {
	if len(raw) == 0 {
		p.invalid(path, "", "give the Secret or ConfigMap to copy, with apiVersion, kind and metadata.name")
		return
	}
	resource, err := distributed(raw)
	if err != nil {
		p.invalid(path, "", "must be an object with apiVersion, kind and metadata: "+err.Error())
		return
	}
	kind := resource.GroupVersionKind().GroupKind()
	if kind.Group != "" || (kind.Kind != "Secret" && kind.Kind != "ConfigMap") {
		p.invalid(path, kind.String(), "must be a Secret or a ConfigMap of apiVersion v1")
	}
	if resource.Name == "" {
		p.required(path.Child("metadata", "name"), "name the copies")
	} else {
		p.check(path.Child("metadata", "name"), resource.Name, apivalidation.NameIsDNSSubdomain(resource.Name, false))
	}
}

func (p *problems) distributionTargets(path *field.Path, targets *v1beta1.ResourceDistributionTargets) {
	excluded := map[string]bool{}
	list := path.Child("excludedNamespaces", "list")
	for i, namespace := range targets.ExcludedNamespaces.List {
		p.check(list.Index(i).Child("name"), namespace.Name, apivalidation.ValidateNamespaceName(namespace.Name, false))
		excluded[namespace.Name] = true
	}
	list = path.Child("includedNamespaces", "list")
	for i, namespace := range targets.IncludedNamespaces.List {
		p.check(list.Index(i).Child("name"), namespace.Name, apivalidation.ValidateNamespaceName(namespace.Name, false))
		if excluded[namespace.Name] {
			p.invalid(list.Index(i).Child("name"), namespace.Name, "is excluded as well: take it out of one list")
		}
	}
	lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	p.add(metav1validation.ValidateLabelSelector(&targets.NamespaceSelector, lenient, path.Child("namespaceSelector")))
}
