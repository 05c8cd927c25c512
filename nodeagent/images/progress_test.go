// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// teller is a runtime that tells how far it is, each time it is asked the next answer.
type teller struct {
	*player
	answers []cri.Fetched
	err     error
	asked   int
}

func (p *teller) Progress(context.Context, string, time.Time) (cri.Fetched, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := min(p.asked, len(p.answers)-1)
	p.asked++
	if p.err != nil {
		return cri.Fetched{}, p.err
	}
	return p.answers[at], nil
}

func (p *teller) Current() (Runtime, error) { return p, nil }

func TestProgress(t *testing.T) {
	of100 := func(done ...int64) (out []cri.Fetched) {
		for _, d := range done {
			out = append(out, cri.Fetched{Done: d, Total: 100})
		}
		return out
	}
	for name, tc := range map[string]struct {
		answers []cri.Fetched
		err     error
		reached int32
		want    []int32 // each time it was looked at
		asked   int
	}{
		"goes on":                        {answers: of100(0, 30, 60, 100), want: []int32{0, 30, 60, 99}, asked: 4},
		"never goes back":                {answers: of100(50, 20, 70), want: []int32{50, 50, 70, 70}, asked: 4},
		"never behind an agent before":   {answers: of100(10, 60), reached: 40, want: []int32{40, 60, 60, 60}, asked: 4},
		"stays when nothing is known":    {answers: append(of100(40), cri.Fetched{}), want: []int32{40, 40, 40, 40}, asked: 4},
		"is not asked for when untold":   {answers: of100(40), err: cri.ErrUnsupported, want: []int32{0, 0, 0, 0}, asked: 1},
		"is asked for again after a no":  {answers: of100(40), err: errors.New("busy"), want: []int32{0, 0, 0, 0}, asked: 4},
		"a runtime that breaks is asked": {answers: of100(40), err: cri.ErrUnavailable, want: []int32{0, 0, 0, 0}, asked: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				play := &teller{player: &player{}, answers: tc.answers, err: tc.err}
				release := make(chan struct{})
				play.pull = func(context.Context, int, cri.Pull) error { <-release; return nil }
				p := play.puller(0)
				p.Runtime = play
				start(t.Context(), p, order("1", func(o *Order) { o.Reached = tc.reached }))
				for i, want := range tc.want {
					time.Sleep(lookEvery)
					synctest.Wait()
					if got := stateOf(p, Key{"img", "1"}); got.Progress != want || got.Message != "" {
						t.Errorf("look %d: %+v, want %d", i, got, want)
					}
				}
				close(release)
				synctest.Wait()
				time.Sleep(time.Hour)
				if got := stateOf(p, Key{"img", "1"}); got.Progress != 100 || got.Phase != v1beta1.ImagePhaseSucceeded || play.asked != tc.asked {
					t.Errorf("asked %d times, end %+v", play.asked, got)
				}
			})
		})
	}
}

// breaker is a runtime of which a look panics.
type breaker struct {
	*player
	looks int
}

func (b *breaker) Progress(context.Context, string, time.Time) (cri.Fetched, error) {
	b.looks++ // looks take turns
	panic("makeslice: cap out of range")
}

func (b *breaker) Current() (Runtime, error) { return b, nil }

// A look that panics costs the progress of its pull, and no other pull the turn to look.
func TestPanicOfALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play := &breaker{player: &player{}}
		play.pull = func(context.Context, int, cri.Pull) error { time.Sleep(time.Minute); return nil }
		p := play.puller(0)
		p.Runtime = play
		for i, tag := range []string{"1", "2"} {
			start(t.Context(), p, order(tag, nil))
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if got := stateOf(p, Key{"img", tag}); got.Phase != v1beta1.ImagePhaseSucceeded || play.looks != i+1 {
				t.Errorf("pull %d: %+v after %d looks", i+1, got, play.looks)
			}
		}
	})
}

func TestProgressAlone(t *testing.T) {
	at := func(change func(*v1beta1.NodeImageStatus)) v1beta1.NodeImageStatus {
		s := v1beta1.NodeImageStatus{Desired: 2, ImageStatuses: map[string]v1beta1.ImageStatus{
			"a": {Tags: []v1beta1.ImageTagStatus{{Tag: "1", Progress: 10}, {Tag: "2", Progress: 20}}},
		}}
		change(&s)
		return s
	}
	from := at(func(*v1beta1.NodeImageStatus) {})
	for name, tc := range map[string]struct {
		to    v1beta1.NodeImageStatus
		step  int32
		alone bool
	}{
		"the furthest step counts": {to: at(func(s *v1beta1.NodeImageStatus) {
			s.ImageStatuses["a"].Tags[0].Progress, s.ImageStatuses["a"].Tags[1].Progress = 13, 27
		}), step: 7, alone: true},
		"a message too": {to: at(func(s *v1beta1.NodeImageStatus) {
			s.ImageStatuses["a"].Tags[0].Progress, s.ImageStatuses["a"].Tags[0].Message = 13, "x"
		}), step: 3},
		"a count too":       {to: at(func(s *v1beta1.NodeImageStatus) { s.Desired = 3 })},
		"an image too":      {to: at(func(s *v1beta1.NodeImageStatus) { s.ImageStatuses["b"] = v1beta1.ImageStatus{} })},
		"an image is gone":  {to: v1beta1.NodeImageStatus{Desired: 2}},
		"another tag there": {to: at(func(s *v1beta1.NodeImageStatus) { s.ImageStatuses["a"].Tags[1].Tag = "3" })},
	} {
		t.Run(name, func(t *testing.T) {
			before := from.ImageStatuses["a"].Tags[0].Progress
			step, alone := progress(from, tc.to)
			if step != tc.step || alone != tc.alone || from.ImageStatuses["a"].Tags[0].Progress != before {
				t.Errorf("%d points, alone: %v", step, alone)
			}
		})
	}
}

// Progress is written ten seconds after any write, at the earliest.
func TestBudgetOfProgress(t *testing.T) {
	var b budget
	now := noon.Time
	if wait := b.takeProgress(now); wait != 0 {
		t.Errorf("the first waits %s", wait)
	}
	if wait := b.takeProgress(now.Add(3 * time.Second)); wait != 7*time.Second {
		t.Errorf("the second waits %s", wait)
	}
	if wait := b.take(now.Add(5 * time.Second)); wait != 0 {
		t.Errorf("news waits %s", wait)
	}
	if wait := b.takeProgress(now.Add(11 * time.Second)); wait != 4*time.Second {
		t.Errorf("progress after news waits %s", wait)
	}
}
