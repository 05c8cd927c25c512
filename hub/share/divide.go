// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import "github.com/flotilla-sh/flotilla/hub/split"

// Limit says how much of a subset a chosen cluster may get. The zero Limit is none.
type Limit struct {
	// Out: it may have nothing of it.
	Out bool
	// Why says why it may not get more than it has, or nothing at all.
	Why string
}

// Buckets are the clusters that a subset can go to, and those that it has to leave. limit says what is
// special about a chosen cluster, beside that it may be frozen; nil is nothing.
func (r Request) Buckets(subset string, limit func(Cluster) Limit) []split.Bucket {
	out := make([]split.Bucket, 0, len(r.Clusters))
	chosen := make(map[string]bool, len(r.Clusters))
	for _, c := range r.Clusters {
		chosen[c.Name] = true
		var l Limit
		if limit != nil {
			l = limit(c)
		}
		b := split.Bucket{Name: c.Name, Weight: c.Weight, Hi: split.Unbounded, Current: r.Held.Of(c.Name, subset)}
		switch {
		case l.Out && b.Current == 0:
			continue
		case l.Out:
			b.Hi, b.Why = 0, l.Why
		case l.Why != "":
			b.Hi, b.Why = b.Current, l.Why
		case c.Frozen != "":
			b.Hi, b.Why = b.Current, c.Frozen
		}
		out = append(out, b)
	}
	for cluster := range r.Held {
		if n := r.Held.Of(cluster, subset); n > 0 && !chosen[cluster] {
			out = append(out, split.Bucket{Name: cluster, Current: n, Why: r.Left[cluster]})
		}
	}
	return out
}

// InProportion divides a number among clusters in proportion to their shares, none above its share. The
// same key gives the same answer to ties.
func (r Request) InProportion(key string, number int32, shares map[string]int32) map[string]int32 {
	ask := split.Request{Key: string(r.Target.GetUID()) + "/" + key, Replicas: number}
	for cluster, n := range shares {
		ask.Buckets = append(ask.Buckets, split.Bucket{Name: cluster, Weight: n, Hi: n})
	}
	out := make(map[string]int32, len(shares))
	for _, s := range split.Ideal(ask).Shares {
		out[s.Name] = s.Replicas
	}
	return out
}
