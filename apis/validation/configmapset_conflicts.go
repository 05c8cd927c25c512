// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// ConfigMapSetPeer is a set of the same namespace that is not being deleted.
type ConfigMapSetPeer struct {
	// Set itself.
	Set *v1alpha1.ConfigMapSet
	// Sidecar is the name of the container it puts into pods; empty where a SidecarSet does that.
	Sidecar string
}

// ConfigMapSetConflicts says what a set and its peers cannot both have in one pod, and what they may not be able
// to. Whoever refuses such a set says that it is in conflict, not that it is invalid.
func ConfigMapSetConflicts(obj ConfigMapSetPeer, peers []ConfigMapSetPeer) (warnings []string, list field.ErrorList) {
	p := &problems{}
	for _, peer := range peers {
		if peer.Set.Name == obj.Set.Name || !mayMeet(obj.Set, peer.Set) {
			continue
		}
		if obj.Sidecar != "" && obj.Sidecar == peer.Sidecar {
			p.invalid(field.NewPath("spec", "reloadSidecarConfig"), obj.Sidecar, "is the reload sidecar of ConfigMapSet "+peer.Set.Name+" as well, which matches the same pods: give it another name")
		}
		warnings = append(warnings, p.mountConflicts(obj.Set, peer.Set)...)
	}
	return warnings, p.list
}

// mayMeet: two sets may match one pod, unless a label tells them apart.
func mayMeet(a, b *v1alpha1.ConfigMapSet) bool {
	if a.Spec.Selector == nil || b.Spec.Selector == nil {
		return true
	}
	for key, value := range a.Spec.Selector.MatchLabels {
		if other, found := b.Spec.Selector.MatchLabels[key]; found && other != value {
			return false
		}
	}
	return true
}

func (p *problems) mountConflicts(obj, peer *v1alpha1.ConfigMapSet) (warnings []string) {
	for i := range obj.Spec.Containers {
		for j := range peer.Spec.Containers {
			mine, theirs := &obj.Spec.Containers[i], &peer.Spec.Containers[j]
			if !nested(mine.MountPath, theirs.MountPath) {
				continue
			}
			at := field.NewPath("spec", "containers").Index(i).Child("mountPath")
			text := fmt.Sprintf("is where ConfigMapSet %s mounts its content in the same container (%s)", peer.Name, theirs.MountPath)
			switch {
			case sameTarget(mine, theirs):
				p.invalid(at, mine.MountPath, text+": choose another path")
			case (mine.NameFrom == nil) != (theirs.NameFrom == nil):
				warnings = append(warnings, at.String()+": if both pick the same container, this "+text)
			}
		}
	}
	return warnings
}

// sameTarget: both pick the same container for certain.
func sameTarget(a, b *v1alpha1.ConfigMapSetContainer) bool {
	if a.NameFrom == nil && b.NameFrom == nil {
		return a.Name == b.Name
	}
	return a.NameFrom != nil && b.NameFrom != nil && a.NameFrom.FieldRef != nil && b.NameFrom.FieldRef != nil &&
		a.NameFrom.FieldRef.FieldPath == b.NameFrom.FieldRef.FieldPath
}

// nested: one path is the other, or below it.
func nested(a, b string) bool {
	a, b = path.Clean(a)+"/", path.Clean(b)+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
