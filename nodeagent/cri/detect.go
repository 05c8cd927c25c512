// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// wellKnown are the sockets looked for below the run directories, the most common first. The last two are
// those of distributions that bring a containerd of their own.
var wellKnown = []string{
	"containerd.sock",
	"containerd/containerd.sock",
	"crio.sock",
	"crio/crio.sock",
	"cri-dockerd.sock",
	"cri-dockerd/cri-dockerd.sock",
	"k3s/containerd/containerd.sock",
	"k0s/containerd.sock",
}

// Candidates returns the endpoints to try, in order. With an explicit socket there is only that: an endpoint
// (unix://...), an absolute path, or a file name below one of the directories. Else it is every well-known
// socket below every directory.
func Candidates(explicit string, dirs []string) []string {
	if strings.Contains(explicit, "://") {
		return []string{explicit}
	}
	if filepath.IsAbs(explicit) {
		return []string{"unix://" + explicit}
	}
	names := wellKnown
	if explicit != "" {
		names = []string{explicit}
	}
	var out []string
	for _, dir := range dirs {
		for _, name := range names {
			out = append(out, "unix://"+filepath.Join(dir, name))
		}
	}
	return out
}

// Probe is what one candidate answered.
type Probe struct {
	Endpoint string
	// Version is set when it answered.
	Version Version
	// Sandboxes counts the sandboxes in it which a kubelet made.
	Sandboxes int
	// Err says why it is of no use; nil when it answered.
	Err error
}

// Choose returns the index of the runtime that the kubelet uses. kubelets is the runtime's name which the
// kubelet reported, "" when that is not known: then the one that holds pods goes before the one that holds
// none, and otherwise the order decides. The error names every candidate and why it was not taken.
func Choose(probes []Probe, kubelets string) (int, error) {
	best := -1
	var refused []error
	for i, p := range probes {
		switch {
		case p.Err != nil:
			refused = append(refused, fmt.Errorf("%s: %w", p.Endpoint, p.Err))
		case kubelets != "" && p.Version.Name != kubelets:
			refused = append(refused, fmt.Errorf("%s: is %s, but the kubelet of this node uses %s", p.Endpoint, p.Version.Name, kubelets))
		case best < 0, probes[best].Sandboxes == 0 && p.Sandboxes > 0:
			best = i
		}
	}
	if best >= 0 {
		return best, nil
	}
	if len(refused) == 0 {
		refused = []error{errors.New("none of the known sockets is there; name one with --socket-file")}
	}
	return -1, errors.New(joinWords(refused))
}

// joinWords puts several errors on one line, for logs, events and health answers.
func joinWords(errs []error) string {
	words := make([]string, 0, len(errs))
	for _, err := range errs {
		words = append(words, err.Error())
	}
	return strings.Join(slices.Compact(words), "; ")
}
