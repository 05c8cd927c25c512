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
		if got, err := b.Look(pod); got != want || (err != nil) != failed {
			t.Errorf("%s: stage %d, error %v", pod, got, err)
		}
	}
	stage(slow, Idle, false)
	b.Begin(slow, func(context.Context) error {
		<-release
		return nil
	})
	b.Begin(quick, func(context.Context) error { return errors.New("lost") })
	if got := <-ended; got != quick {
		t.Errorf("%s has ended", got)
	}
	stage(slow, UnderWay, false)
	stage(quick, Over, true)
	stage(quick, Idle, false)
	b.Begin(quick, func(context.Context) error { panic("a hook of nobody's") }) // the agent lives on
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
