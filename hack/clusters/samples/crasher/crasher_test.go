// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		args  []string
		env   map[string]string
		after time.Duration
		code  int
		fail  bool
	}{
		"defaults":        {after: time.Second, code: 1},
		"environment":     {env: map[string]string{"CRASH_AFTER": "5s", "CRASH_CODE": "3"}, after: 5 * time.Second, code: 3},
		"flags win":       {args: []string{"--code=4"}, env: map[string]string{"CRASH_CODE": "3"}, after: time.Second, code: 4},
		"success refused": {args: []string{"--code=0"}, fail: true},
		"bad environment": {env: map[string]string{"CRASH_AFTER": "later"}, fail: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			after, code, err := parse(tc.args, func(k string) string { return tc.env[k] })
			if (err != nil) != tc.fail || after != tc.after || code != tc.code {
				t.Errorf("got %s, %d, %v", after, code, err)
			}
		})
	}
}
