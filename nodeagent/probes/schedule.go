// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// lastRun is when a probe last began, and in which instance.
type lastRun struct {
	instance string
	at       time.Time
}

// schedule says what is to be seen of a container without a probe, or that it is time for one, and how long until
// one must look again if nothing changes before.
func schedule(v view, p *corev1.Probe, last lastRun, now time.Time) (seen observation, probe bool, wait time.Duration) {
	period := seconds(p.PeriodSeconds)
	switch {
	case v.instance == "":
		return observation{sight: absent}, false, period
	case v.started.IsZero():
		return observation{sight: stopped, instance: v.instance}, false, period
	}
	seen = observation{sight: early, instance: v.instance}
	delay := seconds(p.InitialDelaySeconds)
	if left := v.started.Add(delay).Sub(now); left > 0 && left <= delay { // more is left where the clock was set back since
		return seen, false, left
	}
	if v.ip == "" && p.Exec == nil {
		return seen, false, period
	}
	if left := last.at.Add(period).Sub(now); last.instance == v.instance && left > 0 {
		return seen, false, left
	}
	return seen, true, period
}

// seconds is a duration of a probe's spec: at least a second.
func seconds(n int32) time.Duration { return time.Duration(max(n, 1)) * time.Second }
