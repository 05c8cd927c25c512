// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
)

// placementRules are what a FleetPlacement must keep to at admission. What slips through is told in its
// conditions.
type placementRules struct {
	// placements lists FleetPlacements by the object they name.
	placements client.Reader
	dividers   *dividers
	// overrides are tried on the target; nil tries none.
	overrides *dryRender
}

func (r placementRules) check(ctx context.Context, old, obj *fleetv1alpha1.FleetPlacement) (admission.Warnings, field.ErrorList, error) {
	list := validation.ValidateFleetPlacement(old, obj)
	if len(list) == 0 && (old == nil || modeOf(old) != modeOf(obj)) {
		more, err := r.notDividable(obj)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	if len(list) == 0 {
		more, err := r.overrides.check(ctx, old, obj)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	if old != nil {
		return nil, list, nil
	}
	taken, err := targetTaken(ctx, r.placements, obj)
	return nil, append(list, taken...), err
}

// notDividable refuses a target of a kind for which there is no divider.
func (r placementRules) notDividable(obj *fleetv1alpha1.FleetPlacement) (field.ErrorList, error) {
	_, _, whyNot, err := r.dividers.find(fleetplacement.TargetGVK(obj).GroupKind(), modeOf(obj))
	if err != nil {
		return nil, fmt.Errorf("whether a %s can be divided is not known now: %w", obj.Spec.TargetRef.Kind, err)
	}
	if whyNot == "" {
		return nil, nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "targetRef", "kind"), obj.Spec.TargetRef.Kind, whyNot)}, nil
}

func modeOf(p *fleetv1alpha1.FleetPlacement) fleetv1alpha1.DivisionMode {
	return cmp.Or(p.Spec.Division.Mode, fleetv1alpha1.DivisionDivided)
}

// targetTaken refuses a second placement for one target, as far as the first one can be seen yet: the
// reconciler deals with those that slip through.
func targetTaken(ctx context.Context, placements client.Reader, obj *fleetv1alpha1.FleetPlacement) (field.ErrorList, error) {
	var list fleetv1alpha1.FleetPlacementList
	key := fleetplacement.TargetKey(fleetplacement.TargetGVK(obj).GroupKind(), obj.Spec.TargetRef.Name)
	if err := placements.List(ctx, &list, client.InNamespace(obj.Namespace), client.MatchingFields{fleetplacement.TargetIndex: key}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.Name != obj.Name && other.DeletionTimestamp.IsZero() {
			message := fmt.Sprintf("FleetPlacement %q already places %s %q", other.Name, obj.Spec.TargetRef.Kind, obj.Spec.TargetRef.Name)
			return field.ErrorList{field.Invalid(field.NewPath("spec", "targetRef"), obj.Spec.TargetRef.Name, message)}, nil
		}
	}
	return nil, nil
}
