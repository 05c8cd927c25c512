// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/ocm/identity"
)

const (
	// RegionClaim is the claim that an agent makes from the region labels of its nodes.
	RegionClaim = "region"
	// ZonesClaim is the claim that an agent makes from the zone labels of its nodes.
	ZonesClaim = "zones"

	maxCustomClaims = 20
	managedBy       = "app.kubernetes.io/managed-by"
)

// claimsFrom are the claims that the labels of nodes amount to; an empty value means no such claim.
func claimsFrom(nodes []corev1.Node) map[string]string {
	return map[string]string{
		RegionClaim: valuesOf(nodes, corev1.LabelTopologyRegion),
		ZonesClaim:  valuesOf(nodes, corev1.LabelTopologyZone),
	}
}

func valuesOf(nodes []corev1.Node, label string) string {
	values := sets.New[string]()
	for i := range nodes {
		if v := nodes[i].Labels[label]; v != "" {
			values.Insert(v)
		}
	}
	return strings.Join(sets.List(values), ",")
}

// keepClaims writes the member's own claims where they differ, and leaves those that others made.
func (m *member) keepClaims(ctx context.Context, found *facts) error {
	var problems []error
	for name, value := range claimsFrom(found.nodes) {
		i := slices.IndexFunc(found.claims, func(c clusterv1alpha1.ClusterClaim) bool { return c.Name == name })
		if i < 0 && value != "" {
			problems = append(problems, m.client.Create(ctx, newClaim(name, value)))
			continue
		}
		if i < 0 || found.claims[i].Labels[managedBy] != identity.FieldOwner {
			continue
		}
		problems = append(problems, m.changeClaim(ctx, &found.claims[i], value))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("write claims: %w", err)
	}
	return nil
}

func (m *member) changeClaim(ctx context.Context, claim *clusterv1alpha1.ClusterClaim, value string) error {
	if claim.Spec.Value == value {
		return nil
	}
	if value == "" {
		return client.IgnoreNotFound(m.client.Delete(ctx, claim))
	}
	changed := claim.DeepCopy()
	changed.Spec.Value = value
	return m.client.Patch(ctx, changed, client.MergeFrom(claim))
}

func newClaim(name, value string) *clusterv1alpha1.ClusterClaim {
	return &clusterv1alpha1.ClusterClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedBy: identity.FieldOwner}},
		Spec:       clusterv1alpha1.ClusterClaimSpec{Value: value},
	}
}

// exposed chooses the claims to report: reserved names in OCM's order, then up
// to 20 others by name. Claims without a value are not reported.
func exposed(claims []clusterv1alpha1.ClusterClaim) []clusterv1.ManagedClusterClaim {
	values := map[string]string{}
	for _, c := range claims {
		if c.Spec.Value != "" {
			values[c.Name] = c.Spec.Value
		}
	}
	var out []clusterv1.ManagedClusterClaim
	for _, name := range clusterv1alpha1.ReservedClusterClaimNames {
		if value, found := values[name]; found {
			out = append(out, clusterv1.ManagedClusterClaim{Name: name, Value: value})
			delete(values, name)
		}
	}
	names := sets.List(sets.KeySet(values))
	for _, name := range names[:min(len(names), maxCustomClaims)] {
		out = append(out, clusterv1.ManagedClusterClaim{Name: name, Value: values[name]})
	}
	return out
}
