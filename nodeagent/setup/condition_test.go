// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

func TestConditionOf(t *testing.T) {
	up := cri.Status{State: cri.Up, Endpoint: "unix:///run/c.sock", Runtime: cri.Version{Name: "containerd", Version: "v2"}}
	const advice = "; start the container runtime, or name its socket with --socket-file"
	for name, tc := range map[string]struct {
		is      cri.Status
		status  corev1.ConditionStatus
		message string
	}{
		"up":                       {up, corev1.ConditionTrue, "connected to containerd v2 at unix:///run/c.sock"},
		"a reason without a cure":  {cri.Status{State: cri.Lost, Reason: "it broke"}, corev1.ConditionFalse, "the node agent does nothing on this node: it broke" + advice},
		"a reason that names one":  {cri.Status{State: cri.Searching, Reason: "name one with --socket-file"}, corev1.ConditionFalse, "the node agent does nothing on this node: name one with --socket-file"},
		"up again, an old reason":  {cri.Status{State: cri.Up, Reason: "it broke", Endpoint: "e", Runtime: cri.Version{Name: "crio", Version: "1"}}, corev1.ConditionTrue, "connected to crio 1 at e"},
		"a reason that has no end": {cri.Status{State: cri.Lost, Reason: strings.Repeat("é", 2000)}, corev1.ConditionFalse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditionOf(tc.is)
			if got.Type != "flotilla.sh/ContainerRuntimeUsable" || got.Status != tc.status || len(got.Message) > longestMessage {
				t.Errorf("%+v", got)
			}
			if tc.message != "" && got.Message != tc.message {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}
