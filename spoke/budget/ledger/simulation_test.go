// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
)

var (
	simSeed = flag.Int64("sim.seed", -1, "run the simulation of this seed alone")
	simRuns = flag.Int("sim.runs", 2_000, "number of random simulations; a tenth with -short")
)

const (
	simPods = 10
	// soon is how long it takes at most until a pod that was let go is seen to go, less than an entry holds.
	soon = 3 * time.Second
)

// world is a budget of ten pods, two replicas over it, and what became of the pods.
type world struct {
	*rand.Rand
	store    *store
	now      *clocktesting.FakeClock
	allowed  int
	replicas [2]*Ledger
	caches   [2]*cache
	// pods as they are; deal is when one was let go, and seen what the controller saw of it last.
	pods [simPods]*corev1.Pod
	deal [simPods]time.Time
	seen [simPods]*corev1.Pod
	log  []string
}

func newWorld(seed int64) *world {
	w := &world{Rand: rand.New(rand.NewSource(seed)), now: clocktesting.NewFakeClock(noon)}
	w.allowed = w.Intn(5)
	w.store = allowing(int32(w.allowed))
	w.store.fault = w.fault
	for i := range w.pods {
		w.pods[i] = protected(fmt.Sprint("p", i))
		w.seen[i] = w.pods[i]
	}
	w.crash(0)
	w.crash(1)
	return w
}

// crash starts a replica anew: it remembers nothing, and its cache is filled.
func (w *world) crash(i int) {
	w.replicas[i], w.caches[i] = replica(w.store, &quick{w.now})
}

// fault loses one request in fifteen, or only its answer.
func (w *world) fault() (error, bool) {
	if w.Intn(15) == 0 {
		return errors.New("the connection was lost"), w.Intn(2) == 0
	}
	return nil, true
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.now.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) step(t *testing.T) {
	replica, at := w.Intn(2), w.Intn(simPods)
	switch w.Intn(12) {
	case 0, 1, 2, 3:
		w.ask(t, replica, at)
	case 4, 5:
		w.settle(t, 0)
	case 6:
		if c := w.caches[replica]; c.at < len(w.store.versions)-1 {
			c.at += 1 + w.Intn(len(w.store.versions)-1-c.at)
		}
	case 7:
		w.seen[at] = w.pods[at]
	case 8:
		w.act(at)
	case 9:
		w.pass(time.Duration(w.Intn(1500)) * time.Millisecond)
	case 10:
		w.restore(at)
	case 11:
		if w.Intn(4) == 0 {
			w.crash(replica)
			w.note("replica %d is killed", replica)
		}
	}
}

func (w *world) ask(t *testing.T, replica, at int) {
	if len(w.pods[at].Status.Conditions) == 0 || !w.deal[at].IsZero() { // it is unavailable, or about to be
		return
	}
	operation := []policyv1beta1.PubOperation{update, deletion}[w.Intn(2)]
	q := Question{Pod: w.pods[at], Operation: operation, DryRun: w.Intn(10) == 0}
	answer := ask(t, w.replicas[replica], q)
	w.note("replica %d: %s of p%d (dry run %v): %v, %s", replica, operation, at, q.DryRun, answer.Allowed, answer.Reason)
	if answer.Allowed && !q.DryRun {
		w.deal[at] = w.now.Now()
	}
}

// act takes a pod away that was let go.
func (w *world) act(at int) {
	if w.deal[at].IsZero() {
		return
	}
	pod := w.pods[at].DeepCopy()
	pod.Status.Conditions = nil
	w.pods[at], w.deal[at] = pod, time.Time{}
	w.note("p%d is unavailable", at)
}

// restore makes an unavailable pod available again, after everybody saw that it was not.
func (w *world) restore(at int) {
	if len(w.pods[at].Status.Conditions) == 0 && w.seen[at] == w.pods[at] {
		w.pods[at] = protected(w.pods[at].Name)
		w.note("p%d is available", at)
	}
}

// pass lets time go by; what was let go has happened, and was seen, before its entry runs out.
func (w *world) pass(d time.Duration) {
	w.now.Step(d)
	for at := range w.pods {
		if made := w.deal[at]; !made.IsZero() && w.now.Since(made) > soon {
			w.act(at)
		}
		if len(w.pods[at].Status.Conditions) == 0 {
			w.seen[at] = w.pods[at]
		}
	}
}

func (w *world) settle(t *testing.T, replica int) {
	pods := make([]*corev1.Pod, simPods)
	copy(pods, w.seen[:])
	seen := w.store.version(w.caches[replica].at)
	count, err := w.replicas[replica].Settle(t.Context(), seen, pods, simPods)
	w.note("settled: %+v, %v", count.Status, err)
}

// check is the invariant: pods that are unavailable by our leave, or may become so, are never more than allowed.
func (w *world) check() error {
	gone := 0
	for at := range w.pods {
		if len(w.pods[at].Status.Conditions) == 0 || !w.deal[at].IsZero() {
			gone++
		}
	}
	if gone > w.allowed {
		return fmt.Errorf("%d pods are gone, %d are allowed", gone, w.allowed)
	}
	return nil
}

// drain lets everything come to rest: the books are empty then, and all that is allowed is free again.
func (w *world) drain(t *testing.T) error {
	w.store.fault = nil
	for at := range w.pods {
		w.act(at)
		w.seen[at] = w.pods[at]
		w.restore(at)
		w.seen[at] = w.pods[at]
	}
	w.pass(time.Minute)
	w.caches[0].follow()
	w.settle(t, 0)
	s := w.store.newest().Status
	if int(s.UnavailableAllowed) != w.allowed || len(s.DisruptedPods)+len(s.UnavailablePods) > 0 || s.CurrentAvailable != simPods {
		return fmt.Errorf("at rest: %+v", s)
	}
	before := w.store.writes
	w.caches[0].follow()
	w.settle(t, 0)
	if w.store.writes != before {
		return errors.New("a write at rest")
	}
	return nil
}

// Random requests to two replicas that are killed, lose writes and answers, and have old caches: never are more pods let
// go than allowed, and in the end all is free again.
func TestSimulation(t *testing.T) {
	runs := int64(*simRuns)
	if testing.Short() {
		runs /= 10
	}
	for seed := range runs {
		if *simSeed >= 0 {
			seed = *simSeed
		}
		w := newWorld(seed)
		var err error
		for range 120 {
			w.step(t)
			if err = w.check(); err != nil {
				break
			}
		}
		if err == nil {
			err = w.drain(t)
		}
		if err != nil {
			for _, line := range w.log {
				t.Log(line)
			}
			t.Fatalf("seed %d: %v", seed, err)
		}
		if *simSeed >= 0 {
			return
		}
	}
}
