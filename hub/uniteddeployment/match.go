// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import "github.com/flotilla-sh/flotilla/hub/placement"

// match says of every chosen cluster whether the subset goes there, and with which term.
func (p *planner) match(name string) map[string]placement.Verdict {
	out := make(map[string]placement.Verdict, len(p.req.Clusters))
	for _, c := range p.req.Clusters {
		s, ok := p.subsets[c.Object][name]
		if !ok {
			out[c.Name] = placement.Verdict{Why: "an override takes the subset out"}
			continue
		}
		out[c.Name] = p.req.Verdict(c, name, s.term)
	}
	return out
}
