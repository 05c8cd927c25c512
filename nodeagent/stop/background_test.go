// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// What was begun for one pod keeps no other waiting; that it is over is told once, with how it ended.
func TestBackground(t *testing.T) {
	slow, quick := types.NamespacedName{Namespace: "a", Name: "p"}, types.NamespacedName{Namespace: "b", Name: "p"}
	ended, release := make(chan types.NamespacedName), make(chan struct{})
	b := &Background{
		Start: func(run func(context.Context)) { go run(t.Context()) },
		Ended: func(pod types.NamespacedName) { ended <- pod },
	}
	stage := func(pod types.NamespacedName, want Stage, failed bool) {
		t.Helper()
		if got, err := b.Look(pod, "uid"); got != want || (err != nil) != failed {
			t.Errorf("%s: stage %d, error %v", pod, got, err)
		}
	}
	stage(slow, Idle, false)
	b.Begin(slow, "uid", func(context.Context) error {
		<-release
		return nil
	})
	b.Begin(quick, "uid", func(context.Context) error { return errors.New("lost") })
	if got := <-ended; got != quick {
		t.Errorf("%s has ended", got)
	}
	stage(slow, UnderWay, false)
	stage(quick, Over, true)
	stage(quick, Idle, false)
	b.Begin(quick, "uid", func(context.Context) error { panic("a hook of nobody's") }) // the agent lives on
	if got := <-ended; got != quick {
		t.Errorf("%s has ended", got)
	}
	stage(quick, Over, true)
	close(release)
	if got := <-ended; got != slow {
		t.Errorf("%s has ended", got)
	}
	stage(slow, Over, false)
	stage(slow, Idle, false)
}

// A stop ends with its pod: another of its name, or none, has nothing under way, and hears of no error of it.
func TestBackgroundOfAPodThatIsGone(t *testing.T) {
	name := types.NamespacedName{Namespace: "a", Name: "p"}
	for how, next := range map[string]types.UID{"another pod of the name": "second", "none": ""} {
		for _, early := range []bool{false, true} {
			t.Run(how, func(t *testing.T) {
				var start func()
				ended, given := make(chan types.NamespacedName, 2), make(chan error, 1)
				b := &Background{
					Start: func(run func(context.Context)) { start = func() { go run(t.Context()) } },
					Ended: func(pod types.NamespacedName) { ended <- pod },
				}
				b.Begin(name, "first", func(ctx context.Context) error {
					<-ctx.Done()
					given <- ctx.Err()
					return ctx.Err()
				})
				if !early {
					start()
				}
				if got, err := b.Look(name, "first"); got != UnderWay || err != nil {
					t.Fatalf("stage %d, error %v", got, err)
				}
				if got, err := b.Look(name, next); got != Idle || err != nil {
					t.Errorf("the next: stage %d, error %v", got, err)
				}
				if early { // it was known to be gone before its stop ran
					start()
				}
				if next != "" {
					b.Begin(name, next, func(ctx context.Context) error { return ctx.Err() })
				}
				<-given
				if got := <-ended; got != name {
					t.Errorf("%s has ended", got)
				}
				if next == "" {
					return
				}
				if got, err := b.Look(name, next); got != UnderWay || err != nil {
					t.Errorf("the next begins: stage %d, error %v", got, err)
				}
				start()
				<-ended
				if got, err := b.Look(name, next); got != Over || err != nil {
					t.Errorf("the next ends: stage %d, error %v", got, err)
				}
			})
		}
	}
}
