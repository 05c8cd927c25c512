// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// Nowhere is the summary of an object that no placement names.
func Nowhere(now metav1.Time) Summary {
	const message = "no FleetPlacement names this object, so it goes nowhere"
	said := func(conditionType string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: fleetv1alpha1.ReasonNoPlacement, Message: message}
	}
	return Summary{Observed: true, Now: now, Conditions: []metav1.Condition{
		said(fleetv1alpha1.ConditionFleetPlaced, metav1.ConditionFalse),
		said(fleetv1alpha1.ConditionFleetProgressing, metav1.ConditionFalse),
		said(fleetv1alpha1.ConditionFleetStatusFresh, metav1.ConditionUnknown),
	}}
}
