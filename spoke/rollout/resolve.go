// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is a rollout's limits in pods.
type Budget struct {
	// Replicas wanted.
	Replicas int
	// Partition is how many pods stay at the old revision, 0..Replicas.
	Partition int
	// MaxSurge pods may exist above Replicas.
	MaxSurge int
	// MaxUnavailable pods may be unavailable.
	MaxUnavailable int
	// CreateLimit is how many pods may be unavailable while pods are created.
	CreateLimit int
	// SameRevision says that current and update revision are the same.
	SameRevision bool
	// Rollback lets a raised partition move pods back to the current revision.
	Rollback bool
	// ExcludePreparingDelete leaves pods that wait for deletion out of the count when scaling.
	ExcludePreparingDelete bool
}

// Limits are the fields that Resolve reads. Nil means the field is absent.
type Limits struct {
	Partition, MaxSurge, MaxUnavailable, CreateLimit *intstr.IntOrString
	// Paused turns the surge off.
	Paused bool
}

// Resolve turns the limits into numbers of pods. Partition rounds up (but a percentage below 100%
// leaves at least one pod to update), surge up, unavailability up without surge and down with it,
// the creation limit up. A value that is neither an integer nor a percentage counts as 0 and is
// named in the error; the budget can be used all the same.
func Resolve(replicas int, l Limits) (Budget, error) {
	b := Budget{Replicas: replicas, CreateLimit: math.MaxInt32}
	var bad []string
	scale := func(field string, v *intstr.IntOrString, absent int, up bool) int {
		if v == nil {
			return absent
		}
		n, err := Scaled(v, replicas, up)
		if err != nil {
			bad = append(bad, field+": "+err.Error())
		}
		return max(n, 0)
	}
	b.Partition = partition(replicas, l.Partition, scale("partition", l.Partition, 0, true))
	b.MaxSurge = scale("maxSurge", l.MaxSurge, 0, true)
	if l.Paused {
		b.MaxSurge = 0
	}
	b.MaxUnavailable = scale("maxUnavailable", l.MaxUnavailable, 0, b.MaxSurge == 0)
	b.CreateLimit = scale("scaleStrategy.maxUnavailable", l.CreateLimit, math.MaxInt32, true)
	if len(bad) > 0 {
		return b, fmt.Errorf("%s", strings.Join(bad, "; "))
	}
	return b, nil
}

// partition applies the rule that a percentage below 100% leaves a pod to update.
func partition(replicas int, v *intstr.IntOrString, n int) int {
	if v != nil && v.Type == intstr.String && v.StrVal != "100%" && replicas > 1 && n == replicas {
		n--
	}
	return min(max(n, 0), replicas)
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
