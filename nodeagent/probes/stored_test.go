// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"encoding/json"
	"strings"
	"testing"
)

// The spoke keeps so much room for a result in a node's object; what is stored is JSON, where some characters take six bytes.
func TestMessagesAreBoundedAsTheyAreStored(t *testing.T) {
	for name, tc := range map[string]struct {
		message     string
		least, most int
	}{
		"empty":                    {"", 0, 0},
		"short":                    {"OK\n", 3, 3},
		"plain":                    {strings.Repeat("a", 5000), maxMessage, maxMessage},
		"lines":                    {strings.Repeat("0123456789abcdef\n", 60), 1020, 1020},
		"control characters":       {strings.Repeat("\x00", 5000), 200, 220},
		"control characters, last": {strings.Repeat("a", 900) + strings.Repeat("\x01", 100), 800, maxMessage},
		"no UTF-8":                 {strings.Repeat("\xffa", 600), 600, maxMessage},
		"separators":               {strings.Repeat("\u2028", 400), 600, 660},
		"angle brackets":           {strings.Repeat("<>&", 400), 200, 220},
	} {
		t.Run(name, func(t *testing.T) {
			got := good(tc.message).observed("c://1").message
			raw, err := json.Marshal(got)
			if err != nil || len(raw) > maxStored {
				t.Errorf("%d bytes stored: %v", len(raw), err)
			}
			if len(got) < tc.least || len(got) > tc.most {
				t.Errorf("%d bytes of message", len(got))
			}
			if again := fitting(got); again != got {
				t.Errorf("what fits is cut again: %q", again)
			}
		})
	}
}
