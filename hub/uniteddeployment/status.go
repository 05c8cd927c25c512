// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// Reasons of condition UnitedDeploymentUpdated, as in a member.
const (
	reasonUpdated  = "UnitedDeploymentRevisionUpdated"
	reasonUpdating = "UnitedDeploymentRevisionUpdating"
)

// Status is the object's status as the members report it: counters are sums, observedGeneration moves
// only when every member that can be reached has observed its newest share, and the revisions are the
// hub's own names.
func (Divider) Status(target *unstructured.Unstructured, s share.Summary) (map[string]any, error) {
	status, err := statusOf(target)
	if err != nil {
		return nil, err
	}
	counters(status, s)
	if s.Observed {
		status.ObservedGeneration = target.GetGeneration()
	}
	if s.Plan != nil {
		revisions(status, s)
		subsetStatuses(status, s)
	}
	if spec, err := specOf(target); err == nil {
		status.LabelSelector = selectorOf(spec)
	}
	for _, c := range s.Conditions {
		setCondition(status, c, s.Now)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(status)
}

func statusOf(target *unstructured.Unstructured) (*appsv1beta1.UnitedDeploymentStatus, error) {
	status := &appsv1beta1.UnitedDeploymentStatus{}
	raw, _, err := unstructured.NestedMap(target.Object, "status")
	if err == nil && raw != nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(raw, status)
	}
	if err != nil {
		return nil, fmt.Errorf("reading status: %w", err)
	}
	return status, nil
}

func counters(status *appsv1beta1.UnitedDeploymentStatus, s share.Summary) {
	total := s.Total()
	status.Replicas, status.ReadyReplicas = total.Replicas, total.ReadyReplicas
	status.UpdatedReplicas, status.UpdatedReadyReplicas = total.UpdatedReplicas, total.UpdatedReadyReplicas
}

// revisions promotes the updated revision to the current one when every pod is at it and ready.
func revisions(status *appsv1beta1.UnitedDeploymentStatus, s share.Summary) {
	status.UpdatedRevision = s.Plan.Revision
	complete := s.Observed && status.UpdatedReadyReplicas >= status.Replicas && status.UpdatedReadyReplicas >= s.Plan.Replicas()
	if status.CurrentRevision == "" || complete {
		status.CurrentRevision = s.Plan.Revision
	}
	updated := metav1.Condition{Type: appsv1beta1.UnitedDeploymentUpdated, Status: metav1.ConditionTrue, Reason: reasonUpdated}
	if status.CurrentRevision != status.UpdatedRevision {
		updated.Status, updated.Reason = metav1.ConditionFalse, reasonUpdating
	}
	setCondition(status, updated, s.Now)
}

func subsetStatuses(status *appsv1beta1.UnitedDeploymentStatus, s share.Summary) {
	old := make(map[string]appsv1beta1.UnitedDeploymentSubsetStatus, len(status.SubsetStatuses))
	for _, one := range status.SubsetStatuses {
		old[one.Name] = one
	}
	status.SubsetStatuses = nil
	for _, subset := range s.Plan.Subsets {
		one := old[subset.Name]
		one.Name, one.Replicas, one.Partition = subset.Name, subset.Replicas, subset.Partition
		one.ReadyReplicas = s.Of(subset.Name).ReadyReplicas
		status.SubsetStatuses = append(status.SubsetStatuses, one)
	}
}

// selectorOf is the selector for the scale subresource; an autoscaler does not see reserved pods.
func selectorOf(spec *appsv1beta1.UnitedDeploymentSpec) string {
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return ""
	}
	if isReserving(spec) {
		return selector.String() + "," + appsv1beta1.ReservedPodLabel + "=false"
	}
	return selector.String()
}

func setCondition(status *appsv1beta1.UnitedDeploymentStatus, c metav1.Condition, now metav1.Time) {
	conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{
		Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
	}, now)
}
