// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podcount

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Partition is how many of the replicas stay at the old revision, 0 to replicas. A percentage rounds
// up, but one other than 100% leaves at least one of several pods to update. Nil is 0, and so is a value
// that is neither an integer nor a percentage, which is an error.
func Partition(v *intstr.IntOrString, replicas int) (int, error) {
	if v == nil {
		return 0, nil
	}
	n, err := Scaled(v, replicas, true)
	if v.Type == intstr.String && v.StrVal != "100%" && replicas > 1 && n == replicas {
		n--
	}
	return min(max(n, 0), max(replicas, 0)), err
}

// Scaled returns an integer as it is and a percentage of total, rounded up or down. A string must
// end in %; fractions of a percent are read.
func Scaled(v *intstr.IntOrString, total int, up bool) (int, error) {
	if v.Type == intstr.Int {
		return v.IntValue(), nil
	}
	text, ok := strings.CutSuffix(v.StrVal, "%")
	if !ok {
		return 0, fmt.Errorf("%q is neither an integer nor a percentage", v.StrVal)
	}
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(percent) || math.IsInf(percent, 0) {
		return 0, fmt.Errorf("%q is not a percentage", v.StrVal)
	}
	// One part in a million below or above is float noise, not a fraction of a pod.
	const noise = 1e-6
	exact := percent * float64(total) / 100
	if up {
		return int(math.Ceil(exact - noise)), nil
	}
	return int(math.Floor(exact + noise)), nil
}
