// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// bench runs a pool in a bubble whose time the test moves.
type bench struct {
	*pool
	ctx  context.Context
	mu   sync.Mutex
	runs []time.Time
	// answer is what a probe does; nil succeeds at once.
	answer func(context.Context) outcome
}

func newBench(t *testing.T, limit int) *bench {
	t.Helper()
	b := &bench{}
	b.pool = newPool(b.run, time.Now, limit)
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return b
}

func (b *bench) run(ctx context.Context, _ *target) outcome {
	b.mu.Lock()
	b.runs = append(b.runs, time.Now())
	answer := b.answer
	b.mu.Unlock()
	if answer != nil {
		return answer(ctx)
	}
	return good("fine")
}

func (b *bench) set(answer func(context.Context) outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.runs)
}

func (b *bench) aimAt(targets ...target) {
	all := map[key]target{}
	for _, t := range targets {
		all[t.key] = t
	}
	b.sync(b.ctx, all, nil)
}

func (b *bench) is(t *testing.T, k key, state v1alpha1.ProbeState, message string) {
	t.Helper()
	if r := b.found()[k]; r.state != state || r.message != message {
		t.Errorf("%s is %q %q, want %q %q", k.probe, r.state, r.message, state, message)
	}
}

// pass lets time pass, and everything that is due happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func aimed(k key, instance string, started time.Time, period int32) target {
	return target{
		key:   k,
		probe: corev1.Probe{PeriodSeconds: period, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}}},
		view:  view{ip: "10.0.0.5", instance: instance, started: started},
	}
}

func TestWorkerKeepsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pass(time.Hour) // the agent has run for long: nothing is put off
		b.set(func(context.Context) outcome {
			time.Sleep(3 * time.Second)
			return good("fine")
		})
		b.aimAt(aimed(marked, "c1", time.Now().Add(-time.Minute), 10))
		pass(30*time.Second + time.Millisecond)
		if b.count() != 4 {
			t.Errorf("%d probes in 30 s, want one each 10 s and one at once", b.count())
		}
		pass(3 * time.Second)
		b.is(t, marked, "Succeeded", "fine")
		if n := len(b.changed); n != 1 {
			t.Errorf("%d tokens for one change", n)
		}
	})
}

func TestWorkerFollowsItsContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pass(time.Hour)
		b.aimAt(aimed(marked, "", time.Time{}, 60))
		pass(time.Second)
		b.is(t, marked, "Unknown", "Container(main) has not been created yet")

		b.aimAt(aimed(marked, "c1", time.Now(), 60))
		pass(time.Second)
		b.is(t, marked, "Succeeded", "fine") // as soon as it may, not a period later

		b.aimAt(aimed(marked, "c1", time.Time{}, 60))
		pass(time.Second)
		b.is(t, marked, "Failed", "Container(main) is Non-running")

		b.aimAt(aimed(marked, "c2", time.Now(), 60))
		pass(time.Second / 2)
		b.is(t, marked, "Unknown", "")
		pass(time.Second / 2)
		b.is(t, marked, "Succeeded", "fine")
		if b.count() != 2 {
			t.Errorf("%d probes, want one for each instance", b.count())
		}

		b.aimAt() // the probe is taken off
		pass(time.Hour)
		if _, there := b.found()[marked]; there || b.count() != 2 {
			t.Errorf("%d probes after the end, result kept: %v", b.count(), there)
		}
	})
}

func TestWorkerGoesOnFromStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		stored := map[key]v1alpha1.ContainerProbeState{marked: stateOf("m#p", "Succeeded", "fine", 0, 0)}
		b.sync(b.ctx, map[key]target{marked: aimed(marked, "c://1", time.Now().Add(-time.Hour), 10)}, stored)
		b.is(t, marked, "Succeeded", "fine")
		pass(10 * time.Second)
		if b.count() != 1 || len(b.changed) != 0 {
			t.Errorf("%d probes and %d changes, want one probe within the first period and none", b.count(), len(b.changed))
		}
	})
}

func TestWorkerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		pass(time.Hour)
		at := aimed(marked, "c1", time.Now().Add(-time.Hour), 60)
		b.aimAt(at)
		pass(time.Second)
		b.is(t, marked, "Succeeded", "fine")

		b.set(func(context.Context) outcome { return outcome{err: errors.New("the runtime is away")} })
		pass(time.Hour)
		b.is(t, marked, "Succeeded", "fine")

		at.probe.PeriodSeconds = 1 // takes effect at once
		before := b.count()
		b.aimAt(at)
		pass(10 * time.Second)
		if n := b.count() - before; n < 10 || n > 11 {
			t.Errorf("%d probes in 10 s with a period of one", n)
		}
		b.is(t, marked, "Succeeded", "fine")

		at.probe.TCPSocket = &corev1.TCPSocketAction{Host: "other"}
		b.aimAt(at)
		pass(time.Second)
		b.is(t, marked, "Unknown", "the runtime is away")

		b.set(func(context.Context) outcome { panic("a bug") })
		pass(5 * time.Second)
		b.set(nil)
		pass(2 * time.Second)
		b.is(t, marked, "Succeeded", "fine")
	})
}

// TestRoom: at most so many probes run at once, and half of them of one namespace, however many there are, and all of
// them run.
func TestRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		namespaces []string
		want       int
	}{
		"one namespace":    {[]string{"a"}, 2},
		"two namespaces":   {[]string{"a", "b"}, 4},
		"three namespaces": {[]string{"a", "b", "c"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 4)
				var mu sync.Mutex
				running, most := 0, 0
				b.set(func(context.Context) outcome {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
					mu.Lock()
					running--
					mu.Unlock()
					return bad("no")
				})
				var targets []target
				for i := range 12 {
					container := string(rune('a' + i))
					at := aimed(key{"u", container, "m#p"}, "c-"+container, time.Now().Add(-time.Hour), 1)
					at.pod.Namespace = tc.namespaces[i%len(tc.namespaces)]
					targets = append(targets, at)
				}
				pass(time.Hour)
				b.aimAt(targets...)
				pass(900 * time.Millisecond)
				if most != tc.want || b.count() != 12 {
					t.Errorf("%d probes, %d at once; want 12 and %d", b.count(), most, tc.want)
				}
				for i := range targets {
					b.is(t, targets[i].key, "Failed", "no")
				}
				b.aimAt()
				synctest.Wait()
				if n := len(b.room.shares); n != 0 {
					t.Errorf("%d shares are kept when nothing runs", n)
				}
			})
		})
	}
}

// TestSlowProbesKeepToTheirShare: a namespace whose probes take all the time there is, and are more than there are
// places, does not keep another's from running, nor do two of them for long.
func TestSlowProbesKeepToTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 8)
		ours := 0
		b.pool.run = func(ctx context.Context, at *target) outcome {
			if at.pod.Namespace == "ours" {
				ours++ // one at a time
				return good("")
			}
			select { // as commands do that end for no other reason
			case <-ctx.Done():
			case <-time.After(timeoutOf(&at.probe)):
			}
			return bad("slow")
		}
		aim := func(slow ...string) {
			var targets []target
			for _, namespace := range slow {
				for i := range 20 {
					at := aimed(key{types.UID(namespace), string(rune('a' + i)), "m#p"}, "c", time.Now().Add(-time.Hour), 1)
					at.pod.Namespace, at.probe.TimeoutSeconds = namespace, 1<<30
					targets = append(targets, at)
				}
			}
			b.aimAt(targets...)
			pass(2 * time.Second)
			at := aimed(key{"ours", "main", "m#p"}, "c", time.Now().Add(-time.Hour), 1)
			at.pod.Namespace, ours = "ours", 0
			b.aimAt(append(targets, at)...)
			pass(time.Hour)
			b.aimAt()
			synctest.Wait()
		}
		pass(time.Hour)
		if aim("one"); ours < 3600 {
			t.Errorf("beside one slow namespace %d probes ran in an hour", ours)
		}
		if aim("one", "two"); ours < 20 {
			t.Errorf("beside two slow namespaces %d probes ran in an hour", ours)
		}
	})
}

// TestStartIsSpread: the workers of an agent that has just started begin somewhere within their period.
func TestStartIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 50)
		var targets []target
		for i := range 40 {
			targets = append(targets, aimed(key{"u", string(rune('A' + i)), "m#p"}, "c", time.Now().Add(-time.Hour), 100))
		}
		b.aimAt(targets...)
		pass(50 * time.Second)
		if n := b.count(); n == 0 || n == 40 {
			t.Errorf("%d of 40 probes in the first half of the period", n)
		}
		pass(50 * time.Second)
		if n := b.count(); n < 40 {
			t.Errorf("%d of 40 probes in the first period", n)
		}
	})
}
