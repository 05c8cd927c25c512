// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sum adds up the numbers of a workload's content at these paths: dotted, with indexes into lists. An empty path counts
// as 0. It is an error when a path leads nowhere or to something else than a whole number, or when the sum is not from 0
// to 2147483647.
func Sum(content map[string]any, paths []string) (int32, error) {
	sum := int64(0)
	for _, path := range paths {
		n, err := number(content, path)
		if err != nil {
			return 0, fmt.Errorf("replicas path %q: %w", path, err)
		}
		if sum += n; n < 0 || n > math.MaxInt32 || sum > math.MaxInt32 {
			return 0, fmt.Errorf("replicas path %q: %d is out of bounds", path, n)
		}
	}
	return int32(sum), nil
}

func number(content map[string]any, path string) (int64, error) {
	if path == "" {
		return 0, nil
	}
	at := any(content)
	for _, key := range strings.Split(path, ".") {
		switch in := at.(type) {
		case map[string]any:
			next, ok := in[key]
			if !ok {
				return 0, fmt.Errorf("there is no %q", key)
			}
			at = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(in) {
				return 0, fmt.Errorf("there is no %q in a list of %d", key, len(in))
			}
			at = in[i]
		default:
			return 0, fmt.Errorf("there is nothing below %q but %T", key, at)
		}
	}
	n, ok := at.(int64)
	if !ok {
		return 0, fmt.Errorf("%T is not a whole number", at)
	}
	return n, nil
}
