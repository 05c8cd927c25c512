// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const defaultClassKey = "storageclass.kubernetes.io/is-default-class"

// ClaimResizing says whether claims follow a changed claim template, as gate StatefulSetAutoResizePVCGate
// says, and what is known of storage classes. Where nothing is known, as on the hub, Classes is nil.
type ClaimResizing struct {
	Enabled bool
	Classes []storagev1.StorageClass
}

// claimTemplates wants claim templates that claims can follow, where they are to follow with the pods: only
// storage may change. What the new object says counts, not what the old one said.
func (p *problems) claimTemplates(path *field.Path, old, spec *v1beta1.StatefulSetSpec, resizing ClaimResizing) {
	if !resizing.Enabled || spec.VolumeClaimUpdateStrategy.Type != v1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType {
		return
	}
	before := map[string]*corev1.PersistentVolumeClaim{}
	for i := range old.VolumeClaimTemplates {
		before[old.VolumeClaimTemplates[i].Name] = &old.VolumeClaimTemplates[i]
	}
	if len(old.VolumeClaimTemplates) != len(spec.VolumeClaimTemplates) {
		p.forbidden(path, "with volumeClaimUpdateStrategy OnPodRollingUpdate templates can be neither added nor taken out")
		return
	}
	for i := range spec.VolumeClaimTemplates {
		template := &spec.VolumeClaimTemplates[i]
		was, found := before[template.Name]
		if !found {
			p.forbidden(path.Index(i).Child("metadata", "name"), "with volumeClaimUpdateStrategy OnPodRollingUpdate templates cannot be renamed")
			continue
		}
		p.claimTemplate(path.Index(i).Child("spec"), &was.Spec, &template.Spec, resizing.Classes)
	}
}

func (p *problems) claimTemplate(path *field.Path, old, spec *corev1.PersistentVolumeClaimSpec, classes []storagev1.StorageClass) {
	if equality.Semantic.DeepEqual(old, spec) {
		return
	}
	const fixed = "with volumeClaimUpdateStrategy OnPodRollingUpdate only the storage that is requested can be changed"
	if old.StorageClassName != nil && spec.StorageClassName != nil && *old.StorageClassName != *spec.StorageClassName {
		p.forbidden(path.Child("storageClassName"), fixed)
	}
	if !equality.Semantic.DeepEqual(old.AccessModes, spec.AccessModes) {
		p.forbidden(path.Child("accessModes"), fixed)
	}
	rest := *spec
	rest.StorageClassName, rest.AccessModes, rest.Resources = old.StorageClassName, old.AccessModes, old.Resources
	if !equality.Semantic.DeepEqual(old, &rest) {
		p.forbidden(path, fixed)
	}
	if !equality.Semantic.DeepEqual(old.Resources, spec.Resources) {
		p.expandable(path.Child("storageClassName"), spec.StorageClassName, classes)
	}
}

// expandable wants a class that does not forbid to expand volumes. No class means the default one, if any.
func (p *problems) expandable(path *field.Path, name *string, classes []storagev1.StorageClass) {
	if classes == nil {
		return
	}
	class := classOf(name, classes)
	if class == nil {
		if name != nil {
			p.invalid(path, *name, "there is no such storage class")
		}
		return
	}
	if class.AllowVolumeExpansion != nil && !*class.AllowVolumeExpansion {
		p.invalid(path, class.Name, fmt.Sprintf("storage class %s does not allow volumes to expand: set its allowVolumeExpansion", class.Name))
	}
}

// classOf returns the named class; without a name, the newest of those marked as default.
func classOf(name *string, classes []storagev1.StorageClass) *storagev1.StorageClass {
	var found *storagev1.StorageClass
	for i := range classes {
		class := &classes[i]
		switch {
		case name != nil:
			if class.Name == *name {
				return class
			}
		case class.Annotations[defaultClassKey] == "true":
			if found == nil || found.CreationTimestamp.Before(&class.CreationTimestamp) {
				found = class
			}
		}
	}
	return found
}
