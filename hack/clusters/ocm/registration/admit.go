// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta2 "open-cluster-management.io/api/cluster/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// AcceptedOn is the annotation that says when a cluster was accepted by itself; it is never accepted twice.
	AcceptedOn = "open-cluster-management.io/automatically-accepted-on"
	// RegionClaim is the claim that the region label follows, as long as it holds one region.
	RegionClaim = "region"
	// DefaultSet is the set that exists on every hub for clusters that name none.
	DefaultSet = "default"
	// GlobalSet is the set that exists on every hub and holds every cluster.
	GlobalSet = "global"
)

// Reasons of the conditions written here; the words are OCM's.
const (
	ReasonAccepted     = "HubClusterAdminAccepted"
	ReasonDenied       = "HubClusterAdminDenied"
	ReasonLeaseStopped = "ManagedClusterLeaseUpdateStopped"
)

// admit gives a cluster the metadata and spec that the hub adds to it.
func admit(cluster *clusterv1.ManagedCluster, now time.Time) *clusterv1.ManagedCluster {
	c := cluster.DeepCopy()
	controllerutil.AddFinalizer(c, clusterv1.ManagedClusterFinalizer)
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	if c.Labels[clusterv1beta2.ClusterSetLabel] == "" {
		c.Labels[clusterv1beta2.ClusterSetLabel] = DefaultSet
	}
	if region := regionOf(c); region != "" {
		c.Labels[corev1.LabelTopologyRegion] = region
	}
	if _, before := c.Annotations[AcceptedOn]; !before && !c.Spec.HubAcceptsClient {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, AcceptedOn, now.UTC().Format(time.RFC3339))
		c.Spec.HubAcceptsClient = true
	}
	return c
}

func regionOf(c *clusterv1.ManagedCluster) string {
	for _, claim := range c.Status.ClusterClaims {
		if claim.Name == RegionClaim && !strings.Contains(claim.Value, ",") {
			return claim.Value
		}
	}
	return ""
}

// accepted is the condition that tells the cluster's owner what the hub decided.
func accepted(cluster *clusterv1.ManagedCluster, now time.Time) metav1.Condition {
	condition := metav1.Condition{
		Type: clusterv1.ManagedClusterConditionHubAccepted, Status: metav1.ConditionTrue, Reason: ReasonAccepted,
		Message: "the hub accepts the cluster", LastTransitionTime: metav1.NewTime(now),
	}
	if !cluster.Spec.HubAcceptsClient {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, ReasonDenied, "the hub denies the cluster"
	}
	return condition
}
