// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// world is a workload whose pods are made and deleted through the engine, and a cache that lags behind it.
type world struct {
	*testing.T
	random  *rand.Rand
	subsets []appsv1beta1.WorkloadSpreadSubset
	books   Books
	live    []*corev1.Pod
	pending []*corev1.Pod // let in, on the way to be stored
	cached  []*corev1.Pod // what the controller sees
	now     time.Time
	made    int
}

// admit lets a pod in. One time in ten whoever asked dies before the pod is stored.
func (w *world) admit() {
	key := strconv.Itoa(w.made)
	w.made++
	to := w.books.Admit(key, false, w.now)
	if to.Subset == "" || w.random.IntN(10) == 0 {
		return
	}
	pod := member("p"+key, to.Subset)
	pod.Annotations[appsv1beta1.MatchedWorkloadSpreadKey] = Match{"ws", to.Subset, key}.Annotation()
	w.pending = append(w.pending, pod)
}

func (w *world) store() {
	w.live, w.pending = append(w.live, w.pending...), nil
}

func (w *world) observe() { w.cached = slices.Clone(w.live) }

func (w *world) remove(i int) {
	m, _ := MatchOf(w.live[i])
	w.books.Release(w.live[i], m.Subset, w.quota(m.Subset), w.now)
	w.live = slices.Delete(w.live, i, i+1)
}

func (w *world) quota(subset string) int32 {
	for i := range w.subsets {
		if w.subsets[i].Name == subset {
			quota, _ := Quota(w.subsets[i].MaxReplicas, 0)
			return quota
		}
	}
	return Unlimited
}

func (w *world) settle() {
	got, err := Settle(View{Subsets: w.subsets, Groups: grouped(w.subsets, w.cached...), Old: w.books, Now: w.now})
	if err != nil {
		w.Fatal(err)
	}
	w.books = got.Books
}

func (w *world) step() {
	switch w.random.IntN(7) {
	case 0, 1:
		w.admit()
	case 2:
		w.store()
	case 3:
		for range w.random.IntN(4) { // deleted in quick succession (WS-02)
			if len(w.live) > 0 {
				w.remove(w.random.IntN(len(w.live)))
			}
		}
	case 4:
		w.settle()
	case 5:
		w.now = w.now.Add(time.Duration(w.random.IntN(5)) * time.Second)
		w.store() // a pod is stored and seen long before it is given up
		w.observe()
	case 6:
		w.observe()
	}
}

func (w *world) check(at string) {
	counted := map[string]int{}
	for _, pod := range slices.Concat(w.live, w.pending) {
		m, _ := MatchOf(pod)
		counted[m.Subset]++
	}
	for i := range w.subsets {
		if quota := w.subsets[i].MaxReplicas; quota != nil && counted[w.subsets[i].Name] > quota.IntValue() {
			w.Fatalf("%s: %d pods in %s of %d", at, counted[w.subsets[i].Name], w.subsets[i].Name, quota.IntValue())
		}
	}
}

// A subset never has more pods than it takes, whoever dies when, and all places are found again afterwards.
func TestNeverTooMany(t *testing.T) {
	for seed := range uint64(300) {
		w := &world{T: t, random: rand.New(rand.NewPCG(seed, 1)), subsets: subsets("2", "8"), now: noon} //nolint:gosec // repeatable
		w.books, _ = Align(w.subsets, 10, nil)
		for i := range 300 {
			w.step()
			w.check(fmt.Sprintf("seed %d, step %d", seed, i))
		}
		w.store()
		w.observe()
		w.now = w.now.Add(CreatingFor + time.Second)
		w.settle()
		for range 1000 { // those who die on the way are given up, and others come
			w.admit()
			w.store()
			w.observe()
			w.now = w.now.Add(CreatingFor + time.Second)
			w.settle()
			if len(w.live) == 10 {
				break
			}
		}
		w.check(fmt.Sprintf("seed %d at the end", seed))
		if len(w.live) != 10 {
			t.Fatalf("seed %d: %d pods of 10", seed, len(w.live))
		}
	}
}

// The split is the same after every pod was replaced, one after the other or surging, in any order (WS-01).
func TestSplitOutlivesRollouts(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // repeatable
		of := subsets("2", "8")
		books, _ := Align(of, 10, nil)
		var live []*corev1.Pod
		for i := range 10 {
			live = append(live, member(fmt.Sprintf("old%d", i), books.Admit(fmt.Sprintf("old%d", i), true, noon).Subset))
		}
		for i := range 10 {
			old := random.IntN(10 - i)
			m, _ := MatchOf(live[old])
			books.Release(live[old], m.Subset, map[string]int32{"a": 2, "b": 8}[m.Subset], noon)
			live = slices.Delete(live, old, old+1)
			name := fmt.Sprintf("new%d", i)
			live = append(live, member(name, books.Admit(name, true, noon).Subset))
			if random.IntN(2) == 0 {
				got, err := Settle(View{Subsets: of, Groups: grouped(of, live...), Old: books, Now: noon})
				if err != nil {
					t.Fatal(err)
				}
				books = got.Books
			}
		}
		groups := grouped(of, live...)
		if len(groups["a"]) != 2 || len(groups["b"]) != 8 {
			t.Fatalf("seed %d: %d and %d", seed, len(groups["a"]), len(groups["b"]))
		}
	}
}
