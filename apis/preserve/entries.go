// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package preserve

import "maps"

// With returns labels or annotations with one more entry. The given map, which conversions share with what
// they convert, is not changed.
func With(in map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(in)+1)
	maps.Copy(out, in)
	out[key] = value
	return out
}

// Without returns labels or annotations without some keys, nil when nothing is left. The given map is not
// changed.
func Without(in map[string]string, keys ...string) map[string]string {
	out, cloned := in, false
	for _, key := range keys {
		if _, found := out[key]; !found {
			continue
		}
		if !cloned {
			out, cloned = maps.Clone(in), true
		}
		delete(out, key)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
