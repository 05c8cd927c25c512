// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// recorderName is the reporting controller of events about member objects.
const recorderName = "fleet-agent"

func conflicted(obj *unstructured.Unstructured, why string) events.Event {
	return events.Warning(obj, "FleetConflict", "Adopt", why)
}

func adopted(obj *unstructured.Unstructured, slice *fleetv1alpha1.FleetSlice) events.Event {
	return events.Normal(obj, "FleetAdopted", "Adopt", fmt.Sprintf("slice %s takes this object over (adoption %s)", slice.Name, slice.Spec.Adoption))
}

func released(obj *unstructured.Unstructured, slice *fleetv1alpha1.FleetSlice) events.Event {
	return events.Normal(obj, "FleetReleased", "Release", fmt.Sprintf("slice %s is deleted and lets this object go (deletionPolicy Orphan)", slice.Name))
}

func left(obj *unstructured.Unstructured, why string) events.Event {
	return events.Warning(obj, "FleetSliceGone", "Sweep", why)
}
