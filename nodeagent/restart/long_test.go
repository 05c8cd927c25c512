// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// CR-01: while a container takes its time to end, the requests that wait are told so: the spoke takes one of which the
// agent says nothing for a minute for one that no agent has seen.
func TestWhoWaitsForALongStopIsTold(t *testing.T) {
	first := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "a")
	w := newWorld(t, 1, first)
	w.calm, w.slow = true, true
	ask := func(name string) {
		r := requestOf(v1beta1.ContainerRecreateRequestStrategy{}, "b")
		r.Name, r.UID, r.Status.Phase = name, types.UID(name), ""
		r.CreationTimestamp = metav1.NewTime(t0.Add(time.Second))
		if err := w.live.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	phases := func(want map[string]v1beta1.ContainerRecreateRequestPhase) {
		t.Helper()
		got := map[string]v1beta1.ContainerRecreateRequestPhase{}
		for _, r := range w.requests() {
			got[r.Name] = r.Status.Phase
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
	}
	for range 3 {
		w.agent()
	}
	if !w.long {
		t.Fatal("nothing is being stopped")
	}
	ask("second")
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": recreating, "second": pending})

	// The first is over at its deadline; what it began is not, and the next one waits for that.
	over := w.requests()[0]
	over.Status.Phase = completed
	if err := w.live.Status().Update(t.Context(), &over); err != nil {
		t.Fatal(err)
	}
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "second": pending})
	gone := w.requests()[1]
	if err := w.live.Delete(t.Context(), &gone); err != nil {
		t.Fatal(err)
	}
	ask("third")
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "third": pending})

	w.endOfStop()
	w.agent()
	phases(map[string]v1beta1.ContainerRecreateRequestPhase{"r": completed, "third": recreating})
	want := []State{{Name: "a", Phase: recreating, IsKilled: true}}
	if diff := cmp.Diff(want, w.requests()[0].Status.ContainerRecreateStates); diff != "" {
		t.Errorf("what became of the container that was being stopped (-want +got):\n%s", diff)
	}
}
