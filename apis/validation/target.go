// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// workload names a workload by group, kind and name: of which version it is makes no difference.
type workload struct {
	group, kind, name string
}

// workloadOf reads a reference. It wants each part of it; what is not complete is no workload.
func (p *problems) workloadOf(path *field.Path, apiVersion, kind, name string) (workload, bool) {
	complete := true
	for _, f := range []named[string]{{"apiVersion", apiVersion}, {"kind", kind}, {"name", name}} {
		if f.value == "" {
			p.invalid(path.Child(f.name), f.value, "name the workload by apiVersion, kind and name")
			complete = false
		}
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		p.invalid(path.Child("apiVersion"), apiVersion, "must be a group and a version (apps/v1)")
		complete = false
	}
	return workload{version.Group, kind, name}, complete
}

// sameWorkload says whether two references name the same workload, whatever their versions.
func sameWorkload(a, b [3]string) bool {
	var ignored problems
	one, complete := ignored.workloadOf(nil, a[0], a[1], a[2])
	other, alsoComplete := ignored.workloadOf(nil, b[0], b[1], b[2])
	return complete && alsoComplete && one == other
}

// among says whether a kind is in a list of kinds that an administrator allowed.
func (w workload) among(allowed []schema.GroupKind) bool {
	for _, kind := range allowed {
		if kind.Group == w.group && kind.Kind == w.kind {
			return true
		}
	}
	return false
}
