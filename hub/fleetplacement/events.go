// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/events"
)

const (
	// ReasonMoved: shares of clusters changed.
	ReasonMoved = "SharesMoved"

	actionDivide = "Divide"
)

// eventsOf tells what this pass changed, to the placement, the target and its WorkloadSpread.
func eventsOf(s *snapshot, d decision, out outcome, status fleetv1alpha1.FleetPlacementStatus) []events.Event {
	var list []events.Event
	tell := func(build func(client.Object, string, string, string) events.Event, reason, note string) {
		for _, object := range s.concerned() {
			list = append(list, build(object, reason, actionDivide, note))
		}
	}
	if len(out.written) > 0 && d.plan != nil && len(d.plan.Moves) > 0 {
		tell(events.Normal, ReasonMoved, moved(d.plan.Moves))
	}
	for _, conditionType := range []string{fleetv1alpha1.ConditionResolved, fleetv1alpha1.ConditionFleetPlaced} {
		old, now := conditions.Find(s.placement.Status.Conditions, conditionType), conditions.Find(status.Conditions, conditionType)
		if now.Status == metav1.ConditionFalse && now.Reason != fleetv1alpha1.ReasonDeleting && (old == nil || old.Reason != now.Reason) {
			tell(events.Warning, now.Reason, conditions.Cut(now.Message, maxMessage))
			return list
		}
	}
	return list
}

// concerned are the objects that are told what became of the placement.
func (s *snapshot) concerned() []client.Object {
	out := []client.Object{s.placement}
	if s.target != nil && s.holder == "" {
		out = append(out, s.target)
	}
	if s.spread != nil && s.holder == "" {
		out = append(out, s.spread)
	}
	return out
}

// moved lists at most maxNamed moves.
func moved(list []share.Move) string {
	var parts []string
	for _, m := range list {
		what := m.Name
		if m.Subset != share.Whole {
			what += "/" + m.Subset
		}
		parts = append(parts, fmt.Sprintf("%s %d to %d (%s)", what, m.From, m.To, m.Reason))
	}
	return "replicas by cluster: " + strings.TrimSpace(some(parts))
}
