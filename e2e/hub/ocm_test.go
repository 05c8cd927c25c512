// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// createPlacementRef makes a Placement "prod" that selects the cluster of one region, bound to all clusters.
func createPlacementRef(ctx context.Context, ns, region string) error {
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
		"metadata": map[string]any{"namespace": ns, "name": "global"},
		"spec":     map[string]any{"clusterSet": "global"},
	}}
	placement := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
		"metadata": map[string]any{"namespace": ns, "name": "prod"},
		"spec": map[string]any{
			"clusterSets": []any{"global"},
			"predicates": []any{map[string]any{"requiredClusterSelector": map[string]any{"labelSelector": map[string]any{
				"matchLabels": map[string]any{"topology.kubernetes.io/region": region},
			}}}},
		},
	}}
	if err := fleet.Hub.Create(ctx, binding); err != nil {
		return err
	}
	return fleet.Hub.Create(ctx, placement)
}
