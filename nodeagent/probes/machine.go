// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

// sight is what was seen of a container.
type sight int

const (
	// absent: there has been no instance of it yet.
	absent sight = iota
	// stopped: its last instance does not run.
	stopped
	// early: it runs, but it is not time to probe it.
	early
	// unclear: it was probed, and no result could be had.
	unclear
	// succeeded and failed are results.
	succeeded
	failed
)

// observation is one look at a container.
type observation struct {
	sight
	// instance is the one that was looked at; "" when absent.
	instance string
	// message is the probe's output, or why there is none.
	message string
}

// machine is where one probe stands. Its zero value has seen nothing.
type machine struct {
	instance string
	state    v1alpha1.ProbeState // "" before anything was seen
	message  string

	last sight // of the results, the last one
	run  int32 // how often in a row it came
}

// next is where the probe stands after an observation. See the table in the package comment.
func (m machine) next(k key, p *corev1.Probe, seen observation) machine {
	if seen.sight == absent {
		if m.state == "" {
			m.state, m.message = v1alpha1.ProbeUnknown, fmt.Sprintf("Container(%s) has not been created yet", k.container)
		}
		return m
	}
	m = m.at(seen.instance)
	switch seen.sight {
	case stopped:
		m.state, m.message = v1alpha1.ProbeFailed, fmt.Sprintf("Container(%s) is Non-running", k.container)
		if k.liveness() {
			m.state = v1alpha1.ProbeUnknown
		}
	case unclear:
		if m.state == v1alpha1.ProbeUnknown {
			m.message = seen.message // the only place where a user would look
		}
	case succeeded:
		return m.count(seen, p.SuccessThreshold, v1alpha1.ProbeSucceeded)
	case failed:
		return m.count(seen, p.FailureThreshold, v1alpha1.ProbeFailed)
	case absent, early:
	}
	return m
}

// at begins anew for another instance. A state that names none is taken to be of this one: it was written by an
// agent that does not say.
func (m machine) at(instance string) machine {
	switch {
	case m.state == "" || m.instance != "" && m.instance != instance:
		return machine{instance: instance, state: v1alpha1.ProbeUnknown}
	case m.instance == "" && m.state == v1alpha1.ProbeUnknown:
		m.message = ""
	}
	m.instance = instance
	return m
}

// count takes a result in, which becomes the state when it came often enough in a row; 0 means once.
func (m machine) count(seen observation, threshold int32, state v1alpha1.ProbeState) machine {
	if m.last != seen.sight {
		m.last, m.run = seen.sight, 0
	}
	if m.run++; m.run < threshold {
		return m
	}
	m.run = max(threshold, 1) // it need not grow any more
	m.state, m.message = state, seen.message
	return m
}

// forget is the machine after another handler was asked for.
func (m machine) forget() machine {
	if m.state == "" {
		return m
	}
	return machine{instance: m.instance, state: v1alpha1.ProbeUnknown}
}
