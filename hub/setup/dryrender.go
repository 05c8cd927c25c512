// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/fleetplacement"
	"github.com/flotilla-sh/flotilla/hub/render"
)

// dryRender applies overrides at admission to the target as it is, for every cluster there is. What
// cannot be known then (a target that comes later, a cluster that is labelled later) shows in condition
// FleetPlaced with reason RenderFailed.
type dryRender struct {
	// targets reads past any cache; clusters lists ManagedClusters.
	targets, clusters client.Reader
	renderer          *render.Renderer
}

// check refuses overrides that could not be applied. Those that are there already are not looked at
// again: a target that changed since must not stop other changes of the placement.
func (d *dryRender) check(ctx context.Context, old, obj *fleetv1alpha1.FleetPlacement) (field.ErrorList, error) {
	if d == nil || len(obj.Spec.Overrides) == 0 || old != nil && reflect.DeepEqual(old.Spec.Overrides, obj.Spec.Overrides) {
		return nil, nil
	}
	overrides, err := render.Compile(obj.Spec.Overrides)
	if err != nil {
		return field.ErrorList{notRendered(err, "")}, nil
	}
	target, err := d.target(ctx, obj)
	if target == nil || err != nil {
		return nil, err
	}
	var clusters clusterv1.ManagedClusterList
	if err := d.clusters.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("whether the overrides can be applied is not known now: %w", err)
	}
	base := render.Base(target)
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if _, err := d.renderer.Render(base, overrides.Matching(cluster.Labels)); err != nil {
			return field.ErrorList{notRendered(err, fmt.Sprintf("for cluster %s: ", cluster.Name))}, nil
		}
	}
	return nil, nil
}

// target is the object that is placed; nil when there is none yet, or none that the hub may read.
func (d *dryRender) target(ctx context.Context, obj *fleetv1alpha1.FleetPlacement) (*unstructured.Unstructured, error) {
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(fleetplacement.StoredKind(Scheme(), fleetplacement.TargetGVK(obj)))
	err := d.targets.Get(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: obj.Spec.TargetRef.Name}, target)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("whether the overrides can be applied is not known now: reading the target: %w", err)
	}
	return target, nil
}

// notRendered names the override at fault, where it is one alone.
func notRendered(err error, where string) *field.Error {
	path, why := field.NewPath("spec", "overrides"), err
	var one *render.OverrideError
	if errors.As(err, &one) {
		path, why = path.Index(one.Index).Child(one.Field), one.Err
	}
	return field.Invalid(path, field.OmitValueType{}, where+why.Error())
}
