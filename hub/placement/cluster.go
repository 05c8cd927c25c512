// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Names of the ClusterClaims that hold a cluster's regions and zones, each a list separated by commas,
// and of OCM's own claims that stand in for them.
const (
	RegionClaim    = "region"
	ZonesClaim     = "zones"
	ocmRegionClaim = "region.open-cluster-management.io"
	ocmPlatform    = "platform.open-cluster-management.io"
)

// Cluster is what placement needs to know of one ManagedCluster.
type Cluster struct {
	// Name of the ManagedCluster and of its namespace on the hub.
	Name string
	// Labels of the ManagedCluster.
	Labels map[string]string
	// Accepted tells that the hub accepted the cluster.
	Accepted bool
	// Deleting tells that the ManagedCluster is being deleted.
	Deleting bool
	// Available tells that condition ManagedClusterConditionAvailable is True.
	Available bool
	// Unreachable tells that OCM tainted the cluster unreachable or unavailable.
	Unreachable bool

	values map[string][]string
}

// FromManagedCluster reads a ManagedCluster. The result shares the labels with it.
func FromManagedCluster(mc *clusterv1.ManagedCluster) Cluster {
	claims := make(map[string]string, len(mc.Status.ClusterClaims))
	for _, claim := range mc.Status.ClusterClaims {
		claims[claim.Name] = claim.Value
	}
	return Cluster{
		Name: mc.Name, Labels: mc.Labels,
		Accepted: mc.Spec.HubAcceptsClient, Deleting: !mc.DeletionTimestamp.IsZero(),
		Available:   meta.IsStatusConditionTrue(mc.Status.Conditions, clusterv1.ManagedClusterConditionAvailable),
		Unreachable: slices.ContainsFunc(mc.Spec.Taints, outOfReach),
		values: map[string][]string{
			fleetv1alpha1.ClusterKey:    {mc.Name},
			fleetv1alpha1.ProviderKey:   firstOf(mc.Labels[fleetv1alpha1.ProviderKey], claims[ocmPlatform]),
			fleetv1alpha1.ClusterSetKey: firstOf(mc.Labels[fleetv1alpha1.ClusterSetKey]),
			corev1.LabelTopologyRegion:  firstOf(claims[RegionClaim], claims[ocmRegionClaim], mc.Labels[corev1.LabelTopologyRegion]),
			corev1.LabelTopologyZone:    firstOf(claims[ZonesClaim], mc.Labels[corev1.LabelTopologyZone]),
		},
	}
}

// Equal tells whether placement would decide the same of both.
func (c Cluster) Equal(o Cluster) bool { return reflect.DeepEqual(c, o) }

// Usable tells whether the cluster may hold shares at all.
func (c Cluster) Usable() bool { return c.Accepted && !c.Deleting }

// Values of a cluster-level key, sorted, each once; nil for other keys.
func (c Cluster) Values(key string) []string { return c.values[key] }

func outOfReach(t clusterv1.Taint) bool {
	return t.Key == clusterv1.ManagedClusterTaintUnreachable || t.Key == clusterv1.ManagedClusterTaintUnavailable
}

// firstOf splits the first list that has an element.
func firstOf(lists ...string) []string {
	for _, list := range lists {
		var out []string
		for _, v := range strings.Split(list, ",") {
			if v = strings.TrimSpace(v); v != "" {
				out = append(out, v)
			}
		}
		if len(out) > 0 {
			slices.Sort(out)
			return slices.Compact(out)
		}
	}
	return nil
}
