// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"fmt"
	"strings"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// toldNamespaces is how many namespaces an event names.
const toldNamespaces = 5

// eventsOf are the causes that came up with a pass, as events.
func eventsOf(rd *v1beta1.ResourceDistribution, came []v1beta1.ResourceDistributionCondition) []events.Event {
	var out []events.Event
	for i := range came {
		c := &came[i]
		note := c.Reason
		if len(c.FailedNamespaces) > 0 {
			note = some(c.FailedNamespaces) + ": " + note
		}
		out = append(out, events.Warning(rd, string(c.Type), "Distribute", note))
	}
	return out
}

func some(names []string) string {
	if more := len(names) - toldNamespaces; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:toldNamespaces], ", "), more)
	}
	return strings.Join(names, ", ")
}
