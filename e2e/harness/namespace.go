// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// All returns the hub and the members.
func (f *Fleet) All() []*Cluster { return append([]*Cluster{f.Hub}, f.Members...) }

// DeleteNamespace takes the placements of a namespace back, then deletes it everywhere.
func (f *Fleet) DeleteNamespace(ctx context.Context, name string) error {
	err := f.Hub.DeleteAllOf(ctx, &fleetv1alpha1.FleetPlacement{}, client.InNamespace(name))
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var list fleetv1alpha1.FleetPlacementList
		err := f.Hub.List(ctx, &list, client.InNamespace(name))
		return err == nil && len(list.Items) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("placements of %s do not go away: %w", name, err)
	}
	for _, c := range f.All() {
		ns := &corev1.Namespace{}
		ns.Name = name
		if err := c.Delete(ctx, ns); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// Describe prints what is in a namespace of all clusters, for a test that failed.
func (f *Fleet) Describe(ctx context.Context, namespace string) string {
	var out strings.Builder
	for _, c := range f.All() {
		for _, list := range []client.ObjectList{
			&fleetv1alpha1.FleetPlacementList{}, &appsv1beta1.UnitedDeploymentList{}, &appsv1beta1.CloneSetList{}, &corev1.PodList{}, &corev1.EventList{},
		} {
			if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
				continue // a kind the cluster does not have
			}
			data, _ := json.Marshal(list)
			fmt.Fprintf(&out, "--- %s %T\n%s\n", c.Name, list, data)
		}
	}
	var slices fleetv1alpha1.FleetSliceList
	if err := f.Hub.List(ctx, &slices); err == nil {
		data, _ := json.Marshal(slices)
		fmt.Fprintf(&out, "--- slices\n%s\n", data)
	}
	return out.String()
}
