// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// player is a runtime, its connection, the keyring and who hears of events, all in memory and in the bubble's time.
type player struct {
	mu      sync.Mutex
	pull    func(ctx context.Context, n int, p cri.Pull) error
	pulls   []cri.Pull
	at      []time.Time
	has     map[string]bool
	auths   []cri.Auth
	forgot  int
	down    bool
	up      chan struct{}
	dead    bool
	heard   []events.Event
	changes int
}

func (p *player) PullImage(ctx context.Context, pull cri.Pull) (string, error) {
	p.mu.Lock()
	p.pulls, p.at = append(p.pulls, pull), append(p.at, time.Now())
	n := len(p.pulls)
	p.mu.Unlock()
	if p.pull != nil {
		if err := p.pull(ctx, n, pull); err != nil {
			return "", err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has[pull.Image] = true
	return "", nil
}

func (p *player) ImageID(_ context.Context, image string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.has[image] {
		return "sha256:1", nil
	}
	return "", nil
}

func (p *player) Version(context.Context) (cri.Version, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return cri.Version{}, cri.ErrUnavailable
	}
	return cri.Version{}, nil
}

func (p *player) Current() (Runtime, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return nil, fmt.Errorf("%w: gone", cri.ErrUnavailable)
	}
	return p, nil
}

func (p *player) Await(ctx context.Context) (Runtime, error) {
	select {
	case <-p.up:
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *player) For(context.Context, string, []v1beta1.ReferenceObject) ([]cri.Auth, error) {
	return p.auths, nil
}

func (p *player) Forget([]v1beta1.ReferenceObject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgot++
}

func (p *player) Publish(list ...events.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, list...)
}

func (p *player) puller(workers int) *Puller {
	p.has, p.up = map[string]bool{}, make(chan struct{})
	return &Puller{
		Node: "n", Runtime: p, Credentials: p, Events: p, Now: time.Now, Workers: workers,
		Changed: func() { p.mu.Lock(); p.changes++; p.mu.Unlock() },
	}
}

func start(ctx context.Context, p *Puller, orders ...Order) { p.Carry(ctx, Plan{Start: orders}) }

func stateOf(p *Puller, k Key) v1beta1.ImageTagStatus { return p.Work()[k].Status }

func order(tag string, change func(*Order)) Order {
	o := Order{Key: Key{"img", tag}, Timeout: 10 * time.Minute, Retries: 3}
	if change != nil {
		change(&o)
	}
	return o
}

var errNo = errors.New("no such tag")

func TestAttempts(t *testing.T) {
	never := func(ctx context.Context, _ int, _ cri.Pull) error { <-ctx.Done(); return ctx.Err() }
	failing := func(times int) func(context.Context, int, cri.Pull) error {
		return func(_ context.Context, n int, _ cri.Pull) error {
			if n <= times {
				return errNo
			}
			return nil
		}
	}
	for name, tc := range map[string]struct {
		play    *player
		change  func(*Order)
		phase   v1beta1.ImagePullPhase
		message string
		pulls   int
		took    time.Duration
		has     bool
	}{
		"at once":                         {phase: "Succeeded", pulls: 1},
		"there already (IP-06)":           {has: true, phase: "Succeeded", pulls: 0},
		"there already, pulled anyway":    {has: true, change: func(o *Order) { o.Always = true }, phase: "Succeeded", pulls: 1},
		"the third time":                  {play: &player{pull: failing(2)}, phase: "Succeeded", pulls: 3, took: 3 * time.Second},
		"never, pauses double":            {play: &player{pull: failing(99)}, phase: "Failed", message: "no such tag", pulls: 4, took: 7 * time.Second},
		"no retries":                      {play: &player{pull: failing(99)}, change: func(o *Order) { o.Retries = 0 }, phase: "Failed", message: "no such tag", pulls: 1},
		"an attempt that hangs":           {play: &player{pull: never}, change: func(o *Order) { o.Retries, o.Timeout = 1, time.Minute }, phase: "Failed", message: "pulling image img:1 is canceled: it did not end within 1m0s", pulls: 2, took: 121 * time.Second},
		"the deadline ends an attempt":    {play: &player{pull: never}, change: func(o *Order) { o.Deadline = 30 * time.Second }, phase: "Failed", message: "pulling exceeds the activeDeadlineSeconds", pulls: 1, took: 30 * time.Second},
		"the deadline ends pauses":        {play: &player{pull: failing(99)}, change: func(o *Order) { o.Retries, o.Deadline = 99, 10*time.Second }, phase: "Failed", message: "pulling exceeds the activeDeadlineSeconds", pulls: 4, took: 15 * time.Second},
		"the second credential fits":      {play: &player{auths: []cri.Auth{{Password: "bad"}, {Password: "good"}}, pull: onlyGood}, phase: "Succeeded", pulls: 2},
		"no credential fits, not as none": {play: &player{auths: []cri.Auth{{Password: "bad"}}, pull: onlyGood}, change: func(o *Order) { o.Retries = 0 }, phase: "Failed", message: "401", pulls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				play := cmp.Or(tc.play, &player{})
				p := play.puller(0)
				play.has["img:1"] = tc.has
				began := time.Now()
				start(t.Context(), p, order("1", tc.change))
				for stateOf(p, Key{"img", "1"}).CompletionTime == nil && time.Since(began) < time.Hour {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				got := stateOf(p, Key{"img", "1"})
				if got.Phase != tc.phase || got.Message != tc.message || len(play.pulls) != tc.pulls || got.StartTime == nil {
					t.Errorf("%d pulls, %+v", len(play.pulls), got)
				}
				if took := got.CompletionTime.Sub(got.StartTime.Time); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				if tc.phase == "Succeeded" && (got.Progress != 100 || got.ImageID != "img@sha256:1") {
					t.Errorf("end %+v", got)
				}
				for _, pull := range play.pulls {
					if pull.Annotations["apps.kruise.io/pulling-image-by"] != "kruise-daemon" {
						t.Errorf("annotations %v", pull.Annotations)
					}
				}
				if len(play.heard) == 0 || strings.Contains(play.heard[0].Note, "bad") {
					t.Errorf("events %v", play.heard)
				}
			})
		})
	}
}

func onlyGood(_ context.Context, _ int, p cri.Pull) error {
	if p.Auth == nil || p.Auth.Password != "good" {
		return errors.New("401")
	}
	return nil
}

// A runtime that goes away in the middle costs no attempt, and the wait for it is told.
func TestRuntimeLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := &player{}
		p := play.puller(0)
		play.pull = func(_ context.Context, n int, _ cri.Pull) error {
			if n == 1 {
				play.mu.Lock()
				play.down, play.dead = true, true
				play.mu.Unlock()
				return fmt.Errorf("PullImage: %w: broken", cri.ErrUnavailable)
			}
			return nil
		}
		start(t.Context(), p, order("1", func(o *Order) { o.Retries = 0 }))
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := stateOf(p, Key{"img", "1"}); got.Phase != "Pulling" || !strings.Contains(got.Message, "waits: container runtime unavailable") {
			t.Fatalf("meanwhile %+v", got)
		}
		play.mu.Lock()
		play.down, play.dead = false, false
		play.mu.Unlock()
		close(play.up)
		synctest.Wait()
		if got := stateOf(p, Key{"img", "1"}); got.Phase != "Succeeded" || got.Message != "" || len(play.pulls) != 2 {
			t.Errorf("after %d pulls %+v", len(play.pulls), got)
		}
	})
}

// A registry that is not available is an attempt that failed: the runtime answers.
func TestRegistryUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := &player{pull: func(context.Context, int, cri.Pull) error {
			return fmt.Errorf("PullImage: %w: 503", cri.ErrUnavailable)
		}}
		p := play.puller(0)
		start(t.Context(), p, order("1", func(o *Order) { o.Retries = 0 }))
		synctest.Wait()
		if got := stateOf(p, Key{"img", "1"}); got.Phase != "Failed" || play.forgot != 1 {
			t.Errorf("%+v, forgot %d times", got, play.forgot)
		}
	})
}

func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, most int
		play := &player{}
		play.pull = func(context.Context, int, cri.Pull) error {
			play.mu.Lock()
			busy++
			most = max(most, busy)
			play.mu.Unlock()
			time.Sleep(time.Second)
			play.mu.Lock()
			busy--
			play.mu.Unlock()
			return nil
		}
		p := play.puller(2)
		start(t.Context(), p, order("1", nil), order("2", nil), order("3", nil), order("4", nil), order("5", nil))
		synctest.Wait()
		phases := map[v1beta1.ImagePullPhase]int{}
		for _, at := range p.Work() {
			phases[at.Status.Phase]++
		}
		if phases["Pulling"] != 2 || phases["Waiting"] != 3 {
			t.Errorf("phases %v", phases)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 2 || len(play.pulls) != 5 {
			t.Errorf("%d at once, %d pulls", most, len(play.pulls))
		}
	})
}

// A place is held for an attempt, no longer: tags that fail for ever keep no other from being pulled, nor do those whose
// attempts all last as long as they may, since turns go round.
func TestPlacesAreGivenBack(t *testing.T) {
	for name, bad := range map[string]func(context.Context) error{
		"attempts that fail at once": func(context.Context) error { return errNo },
		"attempts that hang":         func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				play := &player{pull: func(ctx context.Context, _ int, p cri.Pull) error {
					if strings.Contains(p.Image, "bad") {
						return bad(ctx)
					}
					return nil
				}}
				p := play.puller(2)
				endless := func(o *Order) { o.Retries, o.Timeout = 1<<30, time.Minute }
				for i := range 6 {
					start(ctx, p, order(fmt.Sprint("bad", i), endless))
				}
				synctest.Wait()
				start(ctx, p, order("good", nil))
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				if got := stateOf(p, Key{"img", "good"}); got.Phase != "Succeeded" {
					t.Errorf("after %d pulls %+v", len(play.pulls), got)
				}
				for i := range 6 {
					if got := stateOf(p, Key{"img", fmt.Sprint("bad", i)}); got.Phase != "Pulling" || !strings.HasPrefix(got.Message, "attempt ") {
						t.Errorf("bad%d had no turn: %+v", i, got)
					}
				}
				cancel()
				synctest.Wait()
				if n := len(p.places); n != 0 {
					t.Errorf("%d places are still taken", n)
				}
			})
		})
	}
}

// Without a runtime no tag has a place: each says that it waits, all go on when the runtime is there, a deadline ends one
// all the same, and the bound holds.
func TestPlacesWithoutRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := &player{down: true}
		p := play.puller(1)
		play.pull = func(context.Context, int, cri.Pull) error {
			if n := len(p.places); n != 1 {
				t.Errorf("a pull with %d places taken", n)
			}
			return nil
		}
		start(t.Context(), p, order("1", nil), order("2", nil), order("3", func(o *Order) { o.Deadline = time.Minute }))
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, tag := range []string{"1", "2"} {
			if got := stateOf(p, Key{"img", tag}); got.Phase != "Pulling" || !strings.HasPrefix(got.Message, "waits: ") {
				t.Errorf("meanwhile %+v", got)
			}
		}
		if got := stateOf(p, Key{"img", "3"}); got.Phase != "Failed" || got.Message != v1beta1.ImageDeadlineMessage {
			t.Errorf("past its deadline %+v", got)
		}
		play.mu.Lock()
		play.down = false
		play.mu.Unlock()
		close(play.up)
		synctest.Wait()
		for _, tag := range []string{"1", "2"} {
			if got := stateOf(p, Key{"img", tag}); got.Phase != "Succeeded" {
				t.Errorf("at last %+v", got)
			}
		}
	})
}

// A puller takes the place of the one before it of the same tag, which ends.
func TestStartedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		play := &player{}
		play.pull = func(ctx context.Context, n int, _ cri.Pull) error {
			<-ctx.Done()
			play.mu.Lock()
			defer play.mu.Unlock()
			ended = append(ended, fmt.Sprint("pull ", n))
			return ctx.Err()
		}
		p := play.puller(1)
		start(t.Context(), p, order("1", nil))
		synctest.Wait()
		start(t.Context(), p, order("1", func(o *Order) { o.Version = 1 }))
		synctest.Wait()
		if strings.Join(ended, ", ") != "pull 1" || len(play.pulls) != 2 || stateOf(p, Key{"img", "1"}).Version != 1 {
			t.Errorf("%d pulls, ended: %v", len(play.pulls), ended)
		}
	})
}

// A puller that was stopped says nothing more, gives its place back, and new bounds hold from the next attempt on (IP-03).
func TestStopAndUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := &player{pull: func(ctx context.Context, _ int, _ cri.Pull) error { <-ctx.Done(); return ctx.Err() }}
		p := play.puller(1)
		start(t.Context(), p, order("1", nil))
		synctest.Wait()
		start(t.Context(), p, order("2", func(o *Order) { o.Retries = 1 }))
		p.Carry(t.Context(), Plan{Stop: []Key{{"img", "1"}}})
		synctest.Wait()
		p.Carry(t.Context(), Plan{Update: []Order{order("2", func(o *Order) { o.Retries, o.Timeout = 1, 5*time.Second })}})
		time.Sleep(10*time.Minute + 7*time.Second)
		synctest.Wait()
		if got := stateOf(p, Key{"img", "2"}); got.Phase != "Failed" || !strings.Contains(got.Message, "within 5s") {
			t.Errorf("%+v", got)
		}
		if _, there := p.Work()[Key{"img", "1"}]; there || len(play.heard) != 1 {
			t.Errorf("a stopped puller speaks: %v", play.heard)
		}
	})
}
