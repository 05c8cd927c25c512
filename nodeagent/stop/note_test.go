// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-sh/flotilla/nodeagent/cri/crifake"
)

// The API server takes notes of 1024 bytes at most; what a container writes is for those who may read its logs.
func TestNoteOfAFailedHook(t *testing.T) {
	for name, stderr := range map[string]string{"long": strings.Repeat("x", 5000), "secret": "token=hunter2"} {
		t.Run(name, func(t *testing.T) {
			client, runtime := dialFake(t)
			at, log := &clock{}, &told{}
			id := runtime.Run(crifake.Container{PodNamespace: "ns", PodName: "p", PodUID: "u", Name: "main", Exec: func(context.Context, []string) (crifake.Answer, error) {
				return crifake.Answer{Stderr: stderr, ExitCode: 1}, nil
			}})
			s := &Stopper{Events: log, Now: at.Now}
			if _, err := s.Stop(t.Context(), client, Order{Pod: podWith(command("bye")), Container: "main", ID: id, Grace: 5 * time.Second}); err != nil {
				t.Fatal(err)
			}
			for _, e := range log.list {
				if !strings.Contains(e, EventFailedPreStopHook) {
					continue
				}
				if len(e) > 1100 || strings.Contains(e, "hunter2") {
					t.Errorf("an event of %d bytes: %.120s", len(e), e)
				}
			}
		})
	}
}
