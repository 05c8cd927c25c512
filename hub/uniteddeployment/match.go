// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
)

// match says of every chosen cluster whether the subset goes there, and with which term.
func (p *planner) match(name string) map[string]placement.Verdict {
	out := make(map[string]placement.Verdict, len(p.req.Clusters))
	for _, c := range p.req.Clusters {
		s, ok := p.subsets[c.Object][name]
		if !ok {
			out[c.Name] = placement.Verdict{Why: "an override takes the subset out"}
			continue
		}
		out[c.Name] = p.steady(c, s, s.term.Match(c.Cluster))
	}
	return out
}

// steady keeps the term that the cluster was given as long as it chooses the same nodes. A cluster that
// has the subset keeps it, with that term, when it no longer says whether it matches: the verdict then
// is both Unknown and Matches, and the share must not grow.
func (p *planner) steady(c share.Cluster, s subset, verdict placement.Verdict) placement.Verdict {
	given, has := p.req.Given[c.Name][s.name]
	if verdict.Unknown && (has || p.req.Held.Of(c.Name, s.name) > 0) {
		verdict.Matches = true
		verdict.Why += ": it keeps what it has and gets no more"
	}
	if has && verdict.Matches && (verdict.Unknown || s.term.Holds(given, c.Cluster)) {
		verdict.Member = given
	}
	return verdict
}

// unknownNote tells of the clusters that keep the subset although they do not say whether they match;
// "" when there are none.
func unknownNote(name string, verdicts map[string]placement.Verdict) string {
	kept := maps.Clone(verdicts)
	maps.DeleteFunc(kept, func(_ string, v placement.Verdict) bool { return !v.Unknown || !v.Matches })
	if len(kept) == 0 {
		return ""
	}
	return "subset " + name + ": " + whys(kept)
}

// whys says why of at most five clusters.
func whys(verdicts map[string]placement.Verdict) string {
	var parts []string
	for _, cluster := range slices.Sorted(maps.Keys(verdicts)) {
		if len(parts) == 5 {
			parts = append(parts, fmt.Sprintf("and %d more", len(verdicts)-5))
			break
		}
		parts = append(parts, cluster+": "+verdicts[cluster].Why)
	}
	return strings.Join(parts, "; ")
}
