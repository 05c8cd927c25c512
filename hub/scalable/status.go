// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package scalable

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

// Status is a CloneSet's status as the members report it; the status of other kinds is left alone.
// availableReplicas are the replicas that no member calls unavailable.
func (Divider) Status(target *unstructured.Unstructured, s share.Summary) (map[string]any, error) {
	if target.GroupVersionKind().GroupKind() != cloneSet {
		return nil, nil
	}
	status := &appsv1beta1.CloneSetStatus{}
	raw, _, err := unstructured.NestedMap(target.Object, "status")
	if err == nil && raw != nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(raw, status)
	}
	if err != nil {
		return nil, fmt.Errorf("reading status: %w", err)
	}
	total := s.Total()
	status.Replicas, status.ReadyReplicas = total.Replicas, total.ReadyReplicas
	status.UpdatedReplicas, status.UpdatedReadyReplicas = total.UpdatedReplicas, total.UpdatedReadyReplicas
	if s.Observed {
		status.ObservedGeneration = target.GetGeneration()
	}
	if s.Plan != nil {
		planned(status, s, total.UnavailableReplicas)
	}
	status.LabelSelector = selectorOf(target)
	for _, c := range s.Conditions {
		conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{
			Type: c.Type, Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		}, s.Now)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(status)
}

func planned(status *appsv1beta1.CloneSetStatus, s share.Summary, unavailable int32) {
	status.AvailableReplicas = max(s.Plan.Replicas()-unavailable, 0)
	status.AvailableReplicas = min(status.AvailableReplicas, status.ReadyReplicas)
	status.ExpectedUpdatedReplicas = s.Plan.Replicas() - s.Plan.Partition()
	status.UpdateRevision = s.Plan.Revision
	complete := s.Observed && status.UpdatedReadyReplicas >= status.Replicas && status.UpdatedReadyReplicas >= s.Plan.Replicas()
	if status.CurrentRevision == "" || complete {
		status.CurrentRevision = s.Plan.Revision
	}
}

func selectorOf(target *unstructured.Unstructured) string {
	raw, found, err := unstructured.NestedMap(target.Object, "spec", "selector")
	if err != nil || !found {
		return ""
	}
	selector := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, selector); err != nil {
		return ""
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return ""
	}
	return parsed.String()
}
