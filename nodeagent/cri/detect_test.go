// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCandidates(t *testing.T) {
	dirs := []string{"/hostvarrun"}
	tests := map[string]struct {
		explicit string
		want     []string
	}{
		"an endpoint":             {explicit: "unix:///x/y.sock", want: []string{"unix:///x/y.sock"}},
		"an absolute path":        {explicit: "/x/y.sock", want: []string{"unix:///x/y.sock"}},
		"a file name below a dir": {explicit: "k3s/c.sock", want: []string{"unix:///hostvarrun/k3s/c.sock"}},
		"none": {want: []string{
			"unix:///hostvarrun/containerd.sock", "unix:///hostvarrun/containerd/containerd.sock",
			"unix:///hostvarrun/crio.sock", "unix:///hostvarrun/crio/crio.sock",
			"unix:///hostvarrun/cri-dockerd.sock", "unix:///hostvarrun/cri-dockerd/cri-dockerd.sock",
			"unix:///hostvarrun/k3s/containerd/containerd.sock", "unix:///hostvarrun/k0s/containerd.sock",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Candidates(tc.explicit, dirs)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	containerd := func(endpoint string, sandboxes int) Probe {
		return Probe{Endpoint: endpoint, Version: Version{Name: "containerd"}, Sandboxes: sandboxes}
	}
	crio := Probe{Endpoint: "crio", Version: Version{Name: "cri-o"}}
	broken := Probe{Endpoint: "broken", Err: errors.New("hangs")}
	tests := map[string]struct {
		probes  []Probe
		kubelet string
		want    int
		words   []string
	}{
		"the only one":                      {probes: []Probe{crio}, want: 0},
		"the first of equals":               {probes: []Probe{containerd("a", 0), containerd("b", 0)}, want: 0},
		"the one with pods":                 {probes: []Probe{containerd("docker", 0), containerd("k3s", 4)}, want: 1},
		"the first of those with pods":      {probes: []Probe{containerd("a", 1), containerd("b", 4)}, want: 0},
		"a broken one is passed over":       {probes: []Probe{broken, crio}, want: 1},
		"the kubelet's, though it is empty": {probes: []Probe{containerd("a", 9), crio}, kubelet: "cri-o", want: 1},
		"not another than the kubelet's": {
			probes: []Probe{containerd("a", 0), broken}, kubelet: "cri-o", want: -1,
			words: []string{"a: is containerd", "uses cri-o", "broken: hangs"},
		},
		"nothing there": {want: -1, words: []string{"--socket-file"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Choose(tc.probes, tc.kubelet)
			if got != tc.want {
				t.Fatalf("chose %d (%v), want %d", got, err, tc.want)
			}
			if (err != nil) != (tc.want < 0) {
				t.Errorf("error = %v", err)
			}
			for _, word := range tc.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
		})
	}
}

func TestSplitID(t *testing.T) {
	tests := map[string]struct {
		runtime, bare string
		ok            bool
	}{
		"containerd://abc": {runtime: "containerd", bare: "abc", ok: true},
		"abc":              {runtime: "abc"},
		"://abc":           {bare: "abc"},
		"containerd://":    {runtime: "containerd"},
		"":                 {},
	}
	for id, tc := range tests {
		runtime, bare, ok := SplitID(id)
		if runtime != tc.runtime || bare != tc.bare || ok != tc.ok {
			t.Errorf("SplitID(%q) = %q, %q, %v", id, runtime, bare, ok)
		}
	}
}
