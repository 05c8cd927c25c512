// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-sh/flotilla/hub/placement"
)

// Verdict says of a chosen cluster whether a subset with that term goes there. The term that the cluster
// was given stays as long as it chooses the same nodes. A cluster that has the subset keeps it, with that
// term, when it no longer says whether it matches: the verdict then is both Unknown and Matches, and the
// share must not grow.
func (r Request) Verdict(c Cluster, subset string, term placement.Term) placement.Verdict {
	verdict := term.Match(c.Cluster)
	given, has := r.Given[c.Name][subset]
	if verdict.Unknown && (has || r.Held.Of(c.Name, subset) > 0) {
		verdict.Matches = true
		verdict.Why += ": it keeps what it has and gets no more"
	}
	if has && verdict.Matches && (verdict.Unknown || term.Holds(given, c.Cluster)) {
		verdict.Member = given
	}
	return verdict
}

// UnknownNote tells of the clusters that keep the subset although they do not say whether they match; ""
// when there are none. verdicts are by cluster.
func UnknownNote(subset string, verdicts map[string]placement.Verdict) string {
	kept := maps.Clone(verdicts)
	maps.DeleteFunc(kept, func(_ string, v placement.Verdict) bool { return !v.Unknown || !v.Matches })
	if len(kept) == 0 {
		return ""
	}
	return "subset " + subset + ": " + Whys(kept)
}

// Whys says why of at most five clusters. verdicts are by cluster.
func Whys(verdicts map[string]placement.Verdict) string {
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
