// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// TargetIndex is the cache index of FleetPlacements by the object they name. Register it with
// IndexByTarget and list with TargetKey, in the object's namespace.
const TargetIndex = "fleet.target"

// TargetKey is the index key of an object: the version does not matter.
func TargetKey(gk schema.GroupKind, name string) string {
	return strings.Join([]string{gk.Group, gk.Kind, name}, "/")
}

// IndexByTarget is the index function of TargetIndex.
func IndexByTarget(o client.Object) []string {
	p, ok := o.(*fleetv1alpha1.FleetPlacement)
	if !ok {
		return nil
	}
	gvk := TargetGVK(p)
	return []string{TargetKey(gvk.GroupKind(), p.Spec.TargetRef.Name)}
}

// TargetGVK is the kind a placement names. An apiVersion that cannot be read gives an empty group and
// version.
func TargetGVK(p *fleetv1alpha1.FleetPlacement) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(p.Spec.TargetRef.APIVersion, p.Spec.TargetRef.Kind)
}
