// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// crowd is a node with pods of two namespaces: a marker of one asks for a lot, that of the other for little. The pods of
// the one are the older the higher their number.
func crowd(command string) *snapshot {
	big := newMarker("m", asked("p", "main", exec(command)))
	small := newMarker("m", asked("p", "main", exec("true")))
	small.Namespace = "other"
	s := &snapshot{node: newNode("True"), npp: object(), markers: map[string][]podprobe.Marker{
		"ns": podprobe.Markers([]v1alpha1.PodProbeMarker{big}), "other": podprobe.Markers([]v1alpha1.PodProbeMarker{small}),
	}}
	for i := range 20 {
		pod := newPod(fmt.Sprintf("p%02d", i))
		pod.CreationTimestamp = metav1.Time{Time: time.Unix(int64(1000-i), 0)}
		theirs := altered(pod, func(p *corev1.Pod) { p.Namespace, p.UID = "other", "other-"+p.UID })
		s.pods = append(s.pods, pod, theirs)
	}
	return s
}

// One namespace's markers must not keep those of others from being probed, nor from going.
func TestNodesObjectIsBounded(t *testing.T) {
	s := crowd(strings.Repeat("x", 100_000))
	p := makePlan(s)
	if text, err := json.Marshal(p.entries); err != nil || len(text) > mostBytes {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	var got []string
	others := 0
	for _, e := range p.entries {
		if e.Namespace == "other" {
			others++
			continue
		}
		got = append(got, e.Name)
	}
	if others != 20 {
		t.Errorf("%d of the other namespace's 20 pods are probed", others)
	}
	want := []string{"p08", "p09", "p10", "p11", "p12", "p13", "p14", "p15", "p16", "p17", "p18", "p19"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the oldest pods (-want +got):\n%s", diff)
	}
	if len(p.leftOut) != 1 || p.leftOut[0].on("node-1") != "8 of its probes are not run on node node-1: all that are asked for in namespace ns take more than the namespace's share of "+
		"NodePodProbe node-1, which holds 1280 KiB; ask for fewer probes, in fewer pods, or for shorter ones" {
		t.Errorf("told: %+v", p.leftOut)
	}

	s.npp = object(p.entries...)
	slices.Reverse(s.pods) // the cache has no order
	if again := makePlan(s); again.action != keep {
		t.Errorf("at rest: %s (%s)", again.action, again.reason)
	}
}

// Results are stored with what is asked for, so many small probes take room, too.
func TestResultsTakeRoom(t *testing.T) {
	var probes []v1alpha1.PodContainerProbe
	for i := range 200 {
		probes = append(probes, asked(fmt.Sprintf("p%d", i), "main", exec("true")))
	}
	s := crowd("true")
	s.markers["ns"] = podprobe.Markers([]v1alpha1.PodProbeMarker{newMarker("m", probes...)})
	n := 0
	for _, e := range makePlan(s).entries {
		n += len(e.Probes)
	}
	if n < 500 || n*1024 > mostBytes {
		t.Errorf("%d probes", n)
	}
}

func TestShares(t *testing.T) {
	for name, tc := range map[string]struct {
		needs map[string]int
		room  int
		want  map[string]int
	}{
		"room for all":           {map[string]int{"a": 10, "b": 20}, 100, map[string]int{"a": 10, "b": 20}},
		"evenly":                 {map[string]int{"a": 100, "b": 80}, 100, map[string]int{"a": 50, "b": 50}},
		"what one does not need": {map[string]int{"a": 10, "b": 500, "c": 500}, 100, map[string]int{"a": 10, "b": 45, "c": 45}},
		"none":                   {map[string]int{"a": 10}, -5, map[string]int{"a": 0}},
	} {
		if diff := cmp.Diff(tc.want, sharesOf(tc.needs, tc.room)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
