// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// recorderName is the reporting controller of the events.
const recorderName = "uniteddeployment-controller"

// Reasons of events, two of them with OpenKruise's space.
const (
	eventSubsetsChanged   = "SuccessfulUpdateSubset"
	eventSubsetFailed     = "FailedUpdateSubset"
	eventRevisionFailed   = "FailedRevisionProvision"
	eventFindFailed       = "FailedFindSubsets"
	eventAllocationFailed = "Failed SpecifySubsetReplicas"
	eventNotServed        = "TemplateNotSupported"
	eventNumbersNote      = "ReplicasNotAsSpecified"
	eventUnschedulable    = "SubsetUnschedulable"
	eventSchedulable      = "SubsetSchedulable"
)

func subsetsCreated(ud *appsv1beta1.UnitedDeployment, kind string, made []move) events.Event {
	return events.Normal(ud, eventSubsetsChanged, "CreateSubset", fmt.Sprintf("Create %d Subset (%s): %s", len(made), kind, names(made)))
}

func subsetsDeleted(ud *appsv1beta1.UnitedDeployment, gone []move) events.Event {
	reasons := make([]string, len(gone))
	for i, m := range gone {
		reasons[i] = m.live.GetName() + " (" + m.reason + ")"
	}
	return events.Normal(ud, eventSubsetsChanged, "DeleteSubset", fmt.Sprintf("Delete %d Subset: %s", len(gone), strings.Join(reasons, ", ")))
}

func subsetFailed(ud *appsv1beta1.UnitedDeployment, verb string, m move, err error) events.Event {
	return events.Warning(ud, eventSubsetFailed, "UpdateSubset", fmt.Sprintf("subset %s: %s: %v", m.subset, verb, err))
}

func failure(ud *appsv1beta1.UnitedDeployment, reason string, err error) events.Event {
	return events.Warning(ud, reason, "Reconcile", err.Error())
}

func note(ud *appsv1beta1.UnitedDeployment, text string) events.Event {
	return events.Warning(ud, eventNumbersNote, "ShareOut", text)
}

// judged tells that a subset takes no more pods, or is tried again.
func judged(ud *appsv1beta1.UnitedDeployment, subset string, c *appsv1beta1.Condition) events.Event {
	if c.Status == corev1.ConditionFalse {
		return events.Warning(ud, eventUnschedulable, "Reschedule", fmt.Sprintf("subset %s: %s", subset, c.Message))
	}
	return events.Normal(ud, eventSchedulable, "Reschedule", fmt.Sprintf("subset %s is tried again", subset))
}
