// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"math"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// podsOf draws one pod a letter: o/n old or new and available, O/N the same not ready, s/S old or
// new, available and specified to be deleted, x new, not ready and specified, d new PreparingDelete.
func podsOf(letters string) []Pod {
	out := make([]Pod, len(letters))
	for i, c := range letters {
		p := Pod{Pod: &corev1.Pod{}}
		switch c {
		case 'o':
			p.Available, p.Ready = true, true
		case 'n':
			p.Updated, p.Available, p.Ready = true, true, true
		case 'O':
		case 'N':
			p.Updated = true
		case 's':
			p.Specified, p.Available, p.Ready = true, true, true
		case 'S':
			p.Specified, p.Updated, p.Available, p.Ready = true, true, true, true
		case 'x':
			p.Specified, p.Updated = true, true
		case 'd':
			p.PreparingDelete, p.Updated, p.Specified = true, true, true
		default:
			panic(string(c))
		}
		out[i] = p
	}
	return out
}

// limits in the order replicas, partition, maxUnavailable, maxSurge.
type limits struct {
	r       int
	p, u, s intstr.IntOrString
}

func n(r, p, u, s int) limits {
	return limits{r, intstr.FromInt(p), intstr.FromInt(u), intstr.FromInt(s)}
}

func percent(r int, p, u, s string) limits {
	return limits{r, intstr.Parse(p), intstr.Parse(u), intstr.Parse(s)}
}

func budget(t *testing.T, l limits, change func(*Budget, *Limits)) Budget {
	t.Helper()
	in := Limits{Partition: &l.p, MaxUnavailable: &l.u, MaxSurge: &l.s}
	var extra Budget
	if change != nil {
		change(&extra, &in)
	}
	b, err := Resolve(l.r, in)
	if err != nil {
		t.Fatal(err)
	}
	b.SameRevision, b.Rollback, b.ExcludePreparingDelete = extra.SameRevision, extra.Rollback, extra.ExcludePreparingDelete
	return b
}

func same(b *Budget, _ *Limits)     { b.SameRevision = true }
func rollback(b *Budget, _ *Limits) { b.Rollback = true }
func paused(_ *Budget, l *Limits)   { l.Paused = true }
func exclude(b *Budget, _ *Limits)  { b.ExcludePreparingDelete = true }
func scaleCap(n int) func(*Budget, *Limits) {
	return func(_ *Budget, l *Limits) { v := intstr.FromInt(n); l.CreateLimit = &v }
}

// Every row is a contract row of the behaviour spec.
func TestCompute(t *testing.T) {
	for name, tc := range map[string]struct {
		l      limits
		change func(*Budget, *Limits)
		pods   string
		want   Diff
	}{
		"nothing there": {n(5, 0, 1, 0), nil, "", Diff{ScaleUp: 5, ScaleUpLimit: 5}},
		"one specified": {n(5, 0, 1, 0), nil, "nnnnS", Diff{DeleteReadyLimit: 1}},
		"two specified": {n(5, 0, 1, 0), nil, "nnnSS", Diff{DeleteReadyLimit: 1}},
		"one deleted":   {n(5, 0, 1, 0), nil, "nnnn", Diff{ScaleUp: 1, ScaleUpLimit: 1}},
		"second specified waits for the replacement": {n(5, 0, 1, 0), nil, "nnnSN", Diff{}},
		"specified among four":                       {n(5, 0, 1, 0), nil, "nnnS", Diff{ScaleUp: 1, ScaleUpLimit: 1}},
		"two not ready specified too many":           {n(4, 0, 1, 0), nil, "nnnxx", Diff{DeleteReadyLimit: 2}},
		"partition":                                  {n(5, 3, 1, 0), nil, "ooooo", Diff{UpdateNum: 2, UpdateMaxUnavailable: 1}},
		"rollback on":                                {n(5, 4, 2, 0), rollback, "nnnno", Diff{UpdateNum: -3, UpdateMaxUnavailable: 2}},
		"rollback on, both sides lack pods":          {n(6, 5, 2, 0), rollback, "o", Diff{ScaleUp: 5, ScaleUpOld: 4, ScaleUpLimit: 5}},
		"rollback on, both sides have too many":      {n(2, 1, 2, 0), rollback, "oonn", Diff{ScaleDown: 2, ScaleDownOld: 1, DeleteReadyLimit: 4}},
		"rollback off":                               {n(5, 4, 2, 0), nil, "nnnno", Diff{}},
		"surge for a deletion":                       {n(5, 0, 0, 1), same, "nnnnS", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1}},
		"surge pod not ready":                        {n(5, 0, 0, 1), same, "nnnnSN", Diff{UseSurge: 1}},
		"surge pod ready":                            {n(5, 0, 0, 1), same, "nnnnSn", Diff{UseSurge: 1, DeleteReadyLimit: 1}},
		"surge for the update":                       {n(5, 3, 1, 1), nil, "ooooo", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1, UpdateNum: 2, UpdateMaxUnavailable: 1}},
		"surge pod made":                             {n(5, 3, 1, 1), nil, "oooooN", Diff{UseSurge: 1, UpdateNum: 1, UpdateMaxUnavailable: 2}},
		"one updating":                               {n(5, 3, 1, 1), nil, "ooooNN", Diff{ScaleDown: 1, ScaleDownOld: 1}},
		"one updated":                                {n(5, 3, 1, 1), nil, "oooonN", Diff{ScaleDown: 1, ScaleDownOld: 1, DeleteReadyLimit: 1}},
		"specified and surge":                        {n(5, 3, 1, 1), nil, "oooosN", Diff{UseSurge: 1, UseSurgeOld: 1, DeleteReadyLimit: 1, UpdateNum: 1, UpdateMaxUnavailable: 2}},
		"specified one gone":                         {n(5, 3, 1, 1), nil, "ooooN", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1, UpdateNum: 1, UpdateMaxUnavailable: 1}},
		"99% partition, surge":                       {limits{5, intstr.Parse("99%"), intstr.FromInt(3), intstr.FromInt(2)}, nil, "ooooo", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1, UpdateNum: 1, UpdateMaxUnavailable: 3}},
		"99% partition, surge made":                  {limits{5, intstr.Parse("99%"), intstr.FromInt(3), intstr.FromInt(2)}, nil, "oooooN", Diff{ScaleDown: 1, ScaleDownOld: 1, DeleteReadyLimit: 3}},
		"40% and surge":                              {percent(5, "99%", "40%", "30%"), nil, "ooooo", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1, UpdateNum: 1, UpdateMaxUnavailable: 2}},
		"30% and surge floors":                       {percent(5, "99%", "30%", "30%"), nil, "ooooo", Diff{ScaleUp: 1, ScaleUpLimit: 1, UseSurge: 1, UpdateNum: 1, UpdateMaxUnavailable: 1}},
		"same, 2 old 2 new":                          {n(5, 1, 2, 0), same, "oonn", Diff{ScaleUp: 1, ScaleUpLimit: 1, UpdateNum: 1, UpdateMaxUnavailable: 1}},
		"same, partition, all new":                   {n(5, 3, 1, 0), same, "nnnnn", Diff{}},
		"same, partition, 2 old":                     {n(5, 3, 1, 0), same, "oonnn", Diff{}},
		"same, partition 1, 3 old":                   {n(5, 1, 1, 0), same, "ooonn", Diff{UpdateNum: 2, UpdateMaxUnavailable: 1}},
		"same, one too many":                         {n(5, 1, 1, 0), same, "ooonnn", Diff{ScaleDown: 1, ScaleDownOld: 2, DeleteReadyLimit: 2, UpdateNum: 1, UpdateMaxUnavailable: 2}},
		"scale cap":                                  {n(5, 0, 1, 0), scaleCap(2), "", Diff{ScaleUp: 5, ScaleUpLimit: 2}},
		"scale cap, one not ready":                   {n(6, 0, 1, 0), scaleCap(2), "nnN", Diff{ScaleUp: 3, ScaleUpLimit: 1}},
		"scale cap used up":                          {n(6, 0, 1, 0), scaleCap(2), "nNN", Diff{ScaleUp: 3}},
		"exclude off":                                {n(3, 0, 1, 0), nil, "nnd", Diff{}},
		"exclude on":                                 {n(3, 0, 1, 0), exclude, "nnd", Diff{ScaleUp: 1, ScaleUpLimit: 1}},
		"exclude on, replacement made":               {n(3, 0, 1, 0), exclude, "nndN", Diff{}},
		"deletion called off":                        {n(3, 0, 1, 0), exclude, "nnnN", Diff{ScaleDown: 1, DeleteReadyLimit: 1}},
		"paused, too few":                            {n(5, 0, 0, 3), paused, "ooo", Diff{ScaleUp: 2, ScaleUpLimit: 2, UpdateNum: 3, UpdateMaxUnavailable: -2}},
		"paused, too many":                           {n(3, 0, 0, 3), paused, "ooooo", Diff{ScaleDown: 2, ScaleDownOld: 5, DeleteReadyLimit: 2, UpdateNum: 3, UpdateMaxUnavailable: 2}},
		"paused, surge is given back":                {n(5, 0, 0, 3), paused, "oooooNNN", Diff{ScaleDown: 3, ScaleDownOld: 5, UpdateNum: 2, UpdateMaxUnavailable: 3}},
		"paused, partition":                          {n(5, 2, 0, 3), paused, "oooooNNN", Diff{ScaleDown: 3, ScaleDownOld: 3}},
		"surge stops at the partition":               {percent(8, "6", "0", "50%"), nil, "oooooooo", Diff{ScaleUp: 2, ScaleUpLimit: 2, UseSurge: 2, UpdateNum: 2}},
		"partition above replicas is replicas":       {n(3, 9, 1, 1), nil, "ooo", Diff{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Compute(podsOf(tc.pods), budget(t, tc.l, tc.change))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that prepares for its update counts as new when the caller says so.
func TestComputeWithPreparingUpdateAsUpdated(t *testing.T) {
	pods := podsOf("Noo")
	if got := Compute(pods, budget(t, percent(4, "90%", "1", "0"), nil)); got.ScaleUp != 1 || got.ScaleUpOld != 1 {
		t.Errorf("90%%: %+v", got)
	}
	if got := Compute(pods, budget(t, n(4, 2, 1, 0), nil)); got.ScaleUp != 1 || got.ScaleUpOld != 0 {
		t.Errorf("2: %+v", got)
	}
}

func TestPick(t *testing.T) {
	for name, tc := range map[string]struct {
		l     limits
		pods  string
		first int
		want  int
	}{
		"20% of 3 is 1":                           {percent(3, "0", "20%", "0"), "ooo", 0, 1},
		"a later one is unavailable":              {percent(3, "0", "20%", "0"), "ooO", 0, 0},
		"the first one is unavailable":            {percent(3, "0", "20%", "0"), "Ooo", 0, 1},
		"all unavailable":                         {n(5, 0, 2, 0), "OOOOO", 0, 2},
		"two of the target unavailable":           {n(5, 0, 2, 0), "NNooo", 2, 0},
		"one of the target not ready":             {n(5, 0, 2, 0), "nNooo", 2, 1},
		"back to the current revision":            {n(10, 7, 3, 0), "nnnnnnnnnn", 0, 3},
		"budget of an update that may lose none":  {n(3, 0, 0, 0), "ooo", 0, 0},
		"only as many as are to be updated":       {n(4, 3, 4, 0), "oooo", 0, 1},
		"two specified ones do not widen it":      {n(5, 0, 1, 0), "ssooo", 0, 1},
		"surge pods ready make room":              {n(5, 0, 0, 2), "ooooonn", 0, 2},
		"surge pods not ready make none":          {n(5, 0, 0, 2), "oooooNN", 0, 0},
		"creation is blocked by the broken one":   {n(2, 0, 1, 0), "O", 0, 1},
		"surge pod and one of the target waiting": {n(5, 0, 1, 1), "oooonN", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pods := podsOf(tc.pods)
			diff := Compute(pods, budget(t, tc.l, func(b *Budget, l *Limits) { rollback(b, l); scaleCap(1)(b, l) }))
			var order []int
			for i := tc.first; i < len(pods); i++ {
				if pods[i].Updated != (diff.UpdateNum > 0) {
					order = append(order, i)
				}
			}
			if got := Pick(pods, order, diff); len(got.Take) != tc.want {
				t.Errorf("picked %v, want %d (%+v)", got.Take, tc.want, diff)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas  int
		partition string
		want      int
	}{
		"nil": {4, "", 0}, "int": {4, "3", 3}, "above": {4, "9", 4}, "negative": {4, "-1", 0},
		"99% of 4": {4, "99%", 3}, "99% of 3": {3, "99%", 2}, "50% of 1": {1, "50%", 1},
		"100%": {4, "100%", 4}, "1% of 3 keeps one": {3, "1%", 1}, "0%": {3, "0%", 0},
		"fraction": {1000, "0.1%", 1}, "100.0% is not 100%": {4, "100.0%", 3}, "none": {0, "99%", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := Limits{}
			if tc.partition != "" {
				v := intstr.Parse(tc.partition)
				l.Partition = &v
			}
			b, err := Resolve(tc.replicas, l)
			if err != nil || b.Partition != tc.want {
				t.Errorf("partition %d, want %d (%v)", b.Partition, tc.want, err)
			}
			if b.CreateLimit != math.MaxInt32 {
				t.Errorf("create limit %d", b.CreateLimit)
			}
		})
	}
	text := intstr.FromString("5")
	if b, err := Resolve(10, Limits{MaxUnavailable: &text, MaxSurge: &text}); err == nil || b.MaxUnavailable != 0 {
		t.Errorf("a number in a string must be named and count as 0: %+v %v", b, err)
	}
}

// Whatever the pods: the numbers keep their bounds, and a set that is as it should be is left alone.
func TestComputeBounds(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	letters := []rune("onONsSxd")
	for i := range 20000 {
		b := Budget{Replicas: r.Intn(8), MaxSurge: r.Intn(4), MaxUnavailable: r.Intn(4), CreateLimit: math.MaxInt32,
			SameRevision: r.Intn(2) == 0, Rollback: r.Intn(2) == 0, ExcludePreparingDelete: r.Intn(2) == 0}
		b.Partition = r.Intn(b.Replicas + 1)
		text := make([]rune, r.Intn(12))
		for j := range text {
			text[j] = letters[r.Intn(len(letters))]
		}
		d := Compute(podsOf(string(text)), b)
		switch {
		case d.ScaleUp < 0 || d.ScaleDown < 0 || d.DeleteReadyLimit < 0 || d.ScaleUpLimit < 0 || d.ScaleUpOld < 0 || d.ScaleDownOld < 0:
			t.Fatalf("run %d: negative: %+v", i, d)
		case d.ScaleUp > 0 && d.ScaleDown > 0:
			t.Fatalf("run %d: up and down: %+v", i, d)
		case d.UseSurge > b.MaxSurge || d.UseSurgeOld > d.UseSurge || d.ScaleUpLimit > d.ScaleUp:
			t.Fatalf("run %d: above its limit: %+v", i, d)
		case d.UseSurge > 0 && d.UseSurge > max(b.Replicas-b.Partition, b.Partition, len(text)):
			t.Fatalf("run %d: surge for nothing: %+v", i, d)
		}
	}
}
