// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Parse reads a number of replicas: an integer of at least 0 as it is, or a percentage of 0 to 100
// of total, rounded half up. A percentage of a nil total is an error.
func Parse(total *int32, value intstr.IntOrString) (int32, error) {
	if value.Type == intstr.Int {
		if value.IntVal < 0 {
			return 0, fmt.Errorf("%d is negative", value.IntVal)
		}
		return value.IntVal, nil
	}
	text, ok := strings.CutSuffix(value.StrVal, "%")
	if !ok {
		return 0, fmt.Errorf("%q is neither a number nor a percentage", value.StrVal)
	}
	percent, err := strconv.ParseInt(text, 10, 32)
	if err != nil || percent < 0 || percent > 100 {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", value.StrVal)
	}
	if total == nil {
		return 0, fmt.Errorf("%q is a percentage of an unknown total", value.StrVal)
	}
	return int32((int64(*total)*percent*2 + 100) / 200), nil
}

func parseOptional(total *int32, value *intstr.IntOrString, unset int32) (int32, error) {
	if value == nil {
		return unset, nil
	}
	return Parse(total, *value)
}
