// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestSchedule(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC)
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	exec := corev1.ProbeHandler{Exec: &corev1.ExecAction{}}
	tcp := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}}
	for name, tc := range map[string]struct {
		v     view
		probe corev1.Probe
		last  lastRun
		seen  sight
		due   bool
		wait  int
	}{
		"no instance":                 {view{ip: "i"}, corev1.Probe{ProbeHandler: exec, PeriodSeconds: 7}, lastRun{}, absent, false, 7},
		"not running":                 {view{"i", "c1", time.Time{}}, corev1.Probe{ProbeHandler: exec}, lastRun{}, stopped, false, 1},
		"just started":                {view{"i", "c1", now}, corev1.Probe{ProbeHandler: exec, PeriodSeconds: 7}, lastRun{}, early, false, 1},
		"within the delay":            {view{"i", "c1", ago(3)}, corev1.Probe{ProbeHandler: exec, InitialDelaySeconds: 10, PeriodSeconds: 60}, lastRun{}, early, false, 7},
		"after the delay":             {view{"i", "c1", ago(10)}, corev1.Probe{ProbeHandler: exec, InitialDelaySeconds: 10, PeriodSeconds: 60}, lastRun{}, early, true, 60},
		"PM-03 no IP":                 {view{"", "c1", ago(9)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 5}, lastRun{}, early, false, 5},
		"a command needs no IP":       {view{"", "c1", ago(9)}, corev1.Probe{ProbeHandler: exec, PeriodSeconds: 5}, lastRun{}, early, true, 5},
		"probed this period":          {view{"i", "c1", ago(90)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 5}, lastRun{"c1", ago(2)}, early, false, 3},
		"probed last period":          {view{"i", "c1", ago(90)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 5}, lastRun{"c1", ago(5)}, early, true, 5},
		"probed in another instance":  {view{"i", "c2", ago(2)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 5}, lastRun{"c1", ago(3)}, early, true, 5},
		"a period of less than none":  {view{"i", "c1", ago(90)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: -5}, lastRun{"c1", ago(1)}, early, true, 1},
		"the period has become short": {view{"i", "c1", ago(90)}, corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 2}, lastRun{"c1", ago(3)}, early, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			seen, due, wait := schedule(tc.v, &tc.probe, tc.last, now)
			if seen.sight != tc.seen || due != tc.due || wait != time.Duration(tc.wait)*time.Second || seen.instance != tc.v.instance {
				t.Errorf("saw %s of %q, due %v, wait %s", seen.sight, seen.instance, due, wait)
			}
		})
	}
}
