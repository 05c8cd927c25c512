// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadspread

import (
	"fmt"
	"maps"
	"slices"

	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/split"
)

// filling is one ordered fill at work.
type filling struct {
	division
	total int32
	// shares by subset and then by cluster. share.Whole has what is beyond every bound.
	shares map[string]map[string]int32
	// loose are the replicas that chosen clusters hold and no subset has yet: they had no subset, or had
	// to leave it.
	loose map[string]int32
	// unspread are the chosen clusters that hold replicas of no subset alone: they had no WorkloadSpread.
	unspread map[string]bool
	// patient: replicas that find no node stay where they are.
	patient bool
	// short is how many replicas have no place; full are the clusters that take no more of those of no subset.
	short int32
	full  []split.Full
}

// fill fills the subsets in their order.
func fill(req share.Request, s spread, total int32) *filling {
	f := &filling{division: divisionOf(req, s), total: total, loose: map[string]int32{}, unspread: map[string]bool{}, shares: map[string]map[string]int32{}}
	f.loosen()
	beyond := f.beyond()
	rest := total - beyond
	for _, one := range s.subsets {
		rest -= f.one(one, rest)
	}
	outside := f.give(share.Whole, beyond, f.outside())
	f.short, f.full = rest+beyond-outside.placed, outside.full
	f.fence()
	return f
}

// fence bounds subsets that have no bound in clusters that also have replicas of a later one, since a
// member would let the former take all. That is so where a cluster gets no more of it.
func (f *filling) fence() {
	later := map[string]bool{}
	for i := len(f.subsets) - 1; i >= 0; i-- {
		row := &f.subsets[i]
		for cluster, n := range row.Shares {
			if later[cluster] && row.Most == nil {
				if row.Bounds == nil {
					row.Bounds = map[string]int32{}
				}
				row.Bounds[cluster] = n
			}
		}
		for cluster, n := range row.Shares {
			later[cluster] = later[cluster] || n > 0
		}
	}
}

// loosen finds what the clusters hold of no subset there is now.
func (f *filling) loosen() {
	known := map[string]bool{}
	for _, one := range f.spread.subsets {
		known[one.name] = true
	}
	for _, c := range f.req.Clusters {
		f.unspread[c.Name] = true
		for name, n := range f.req.Held[c.Name] {
			if known[name] {
				f.unspread[c.Name] = false
			} else {
				f.loose[c.Name] += n
			}
		}
	}
}

// beyond is how many replicas no subset would take, if every one were full.
func (f *filling) beyond() int32 {
	rest := int64(f.total)
	for _, one := range f.spread.subsets {
		if one.most == nil {
			return 0
		}
		rest -= int64(*one.most)
	}
	return int32(max(rest, 0)) //nolint:gosec // at most the total
}

// one fills a subset from what is left, and returns how many replicas it took.
func (f *filling) one(s subset, rest int32) int32 {
	want := rest
	if s.most != nil {
		want = min(rest, *s.most)
	}
	given := f.give(s.name, want, f.buckets(s.name))
	if last := f.spread.subsets[len(f.spread.subsets)-1]; last.name == s.name && given.placed < want && len(f.req.Most) > 0 {
		given = f.again(s.name, want)
	}
	row := share.SpreadSubset{Name: s.name, Most: s.most, Shares: map[string]int32{}, Bounds: f.bounds(s), Passed: want - given.placed}
	for cluster, verdict := range f.verdicts[s.name] {
		if verdict.Matches {
			row.Shares[cluster] = f.shares[s.name][cluster]
		}
	}
	if row.Passed > 0 {
		row.Why = f.why(s.name, given.full)
	}
	f.subsets = append(f.subsets, row)
	return given.placed
}

// buckets are the clusters that a subset can go to. One that may get no more and had no WorkloadSpread so
// far may count what it holds as of this subset.
func (f *filling) buckets(name string) []split.Bucket {
	verdicts := f.verdicts[name]
	out := f.req.Buckets(name, func(c share.Cluster) share.Limit {
		return share.Limit{Out: !verdicts[c.Name].Matches, Why: verdicts[c.Name].Why}
	})
	for i := range out {
		b := &out[i]
		if f.unspread[b.Name] && verdicts[b.Name].Matches && b.Hi != split.Unbounded {
			b.Hi += f.loose[b.Name]
		}
		if most, stuck := f.req.Most[b.Name][name]; stuck && !f.patient && most < b.Hi {
			b.Hi, b.Why = most, "more found no node there"
		}
	}
	return out
}

// again gives the last subset its replicas although some find no node: after it there is nothing they
// could go on to, and a node may come. What another cluster could take has moved there.
func (f *filling) again(name string, want int32) given {
	f.patient = true
	buckets := f.buckets(name)
	own := slices.Clone(buckets)
	for i := range own {
		own[i].Hi = min(own[i].Hi, max(own[i].Current, f.shares[name][own[i].Name]))
		own[i].Current = f.shares[name][own[i].Name]
	}
	result := split.Steady(split.Request{Key: f.key(name), Replicas: want, Buckets: own})
	for i := range buckets {
		b := &buckets[i]
		b.Current = result.Of(b.Name)
		f.loose[b.Name] -= b.Current - f.shares[name][b.Name]
	}
	return f.give(name, want, buckets)
}

// key decides ties among the clusters of a subset.
func (f *filling) key(name string) string { return string(f.req.Target.GetUID()) + "/" + name }

// given is what came of giving replicas to a subset.
type given struct {
	placed int32
	full   []split.Full
}

// give divides replicas over the clusters: what they hold stays, then what they hold of no subset is
// counted in, and only what is still missing comes from elsewhere.
func (f *filling) give(name string, want int32, buckets []split.Bucket) given {
	near, from := slices.Clone(buckets), make(map[string]int32, len(buckets))
	for i := range near {
		near[i].Hi = min(near[i].Hi, sum(near[i].Current, f.loose[near[i].Name]))
		from[near[i].Name] = near[i].Current
	}
	first := split.Steady(split.Request{Key: f.key(name), Replicas: want, Buckets: near})
	for i := range buckets {
		buckets[i].Current = first.Of(buckets[i].Name)
	}
	result := split.Steady(split.Request{Key: f.key(name), Replicas: want, Buckets: buckets})
	shares := make(map[string]int32, len(result.Shares))
	for _, s := range result.Shares {
		shares[s.Name] = s.Replicas
	}
	f.shares[name] = shares
	for _, c := range f.req.Clusters { // keep the books of what is loose
		f.loose[c.Name] = max(sum(f.loose[c.Name], from[c.Name]-shares[c.Name]), 0)
	}
	return given{placed: want - result.Short, full: result.Full}
}

// outside are the clusters that can have replicas of no subset: what is loose by now is what they hold.
func (f *filling) outside() []split.Bucket {
	out := f.req.Buckets(share.Whole, nil)
	for i := range out {
		b := &out[i]
		if b.Current = f.loose[b.Name]; b.Hi != split.Unbounded {
			b.Hi = b.Current
		}
	}
	f.loose = map[string]int32{}
	return out
}

// bounds divides a subset's bound over the clusters that match it, by their weights and none below its
// share. Clusters that may get no more keep to their share. It is nil without a bound.
func (f *filling) bounds(s subset) map[string]int32 {
	if s.most == nil {
		return nil
	}
	req := split.Request{Key: f.key(s.name) + "/max", Replicas: *s.most}
	for _, c := range f.req.Clusters {
		verdict := f.verdicts[s.name][c.Name]
		if !verdict.Matches {
			continue
		}
		b := split.Bucket{Name: c.Name, Weight: c.Weight, Lo: f.shares[s.name][c.Name], Hi: split.Unbounded}
		if _, stuck := f.req.Most[c.Name][s.name]; stuck || c.Frozen != "" || verdict.Why != "" {
			b.Hi = b.Lo
		}
		req.Buckets = append(req.Buckets, b)
	}
	out := make(map[string]int32, len(req.Buckets))
	for _, b := range split.Ideal(req).Shares {
		out[b.Name] = b.Replicas
	}
	return out
}

// why says why a subset could not take all it would.
func (f *filling) why(name string, full []split.Full) string {
	verdicts := f.verdicts[name]
	if len(verdicts) == 0 {
		return "no cluster is selected"
	}
	matching := slices.DeleteFunc(slices.Clone(full), func(b split.Full) bool { return !verdicts[b.Name].Matches })
	if len(matching) == 0 {
		return "no selected cluster matches: " + share.Whys(verdicts)
	}
	return reasons(matching)
}

// reasons says why clusters take no more.
func reasons(full []split.Full) string {
	whys := map[string]placement.Verdict{}
	for _, b := range full {
		whys[b.Name] = placement.Verdict{Why: fmt.Sprintf("has %d, %s", b.Replicas, b.Why)}
	}
	return share.Whys(whys)
}

// totals are the replicas of each chosen cluster.
func (f *filling) totals() map[string]int32 {
	out := make(map[string]int32, len(f.req.Clusters))
	for _, c := range f.req.Clusters {
		for _, shares := range f.shares {
			out[c.Name] += shares[c.Name]
		}
	}
	return out
}

// held are a chosen cluster's replicas of the subsets that match it, and of none.
func (f *filling) held(cluster string) map[string]int32 {
	out := map[string]int32{}
	for _, one := range f.spread.subsets {
		if f.verdicts[one.name][cluster].Matches {
			out[one.name] = f.shares[one.name][cluster]
		}
	}
	if n := f.shares[share.Whole][cluster]; n > 0 {
		out[share.Whole] = n
	}
	return out
}

// moves are the shares that change, by subset in order and then by cluster.
func (f *filling) moves() (out []share.Move) {
	names := []string{share.Whole}
	for _, one := range f.spread.subsets {
		names = append(names, one.name)
	}
	for _, held := range f.req.Held {
		names = slices.AppendSeq(names, maps.Keys(held))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		out = append(out, f.movesOf(name)...)
	}
	return out
}

func (f *filling) movesOf(name string) (out []share.Move) {
	held := map[string]int32{}
	for cluster, all := range f.req.Held {
		if all[name] != 0 {
			held[cluster] = all[name]
		}
	}
	clusters := slices.AppendSeq(slices.Collect(maps.Keys(held)), maps.Keys(f.shares[name]))
	slices.Sort(clusters)
	var before, after int64
	for _, cluster := range slices.Compact(clusters) {
		before, after = before+int64(held[cluster]), after+int64(f.shares[name][cluster])
	}
	for _, cluster := range slices.Compact(clusters) {
		if from, to := held[cluster], f.shares[name][cluster]; from != to {
			move := split.Move{Name: cluster, From: from, To: to, Reason: reason(to > from, after-before)}
			out = append(out, share.Move{Move: move, Subset: name})
		}
	}
	return out
}

// reason of a move of a share, by whether it grew and by how much all shares of its subset did.
func reason(grew bool, growth int64) split.Reason {
	switch {
	case grew && growth > 0:
		return split.Grow
	case !grew && growth < 0:
		return split.Shrink
	default:
		return split.Displaced
	}
}

// sum adds without overflow.
func sum(a, b int32) int32 {
	return int32(max(min(int64(a)+int64(b), maxInt32), -maxInt32)) //nolint:gosec // within bounds
}
