// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/internal/podcount"
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
		n, err := podcount.Scaled(v, replicas, up)
		if err != nil {
			bad = append(bad, field+": "+err.Error())
		}
		return max(n, 0)
	}
	var err error
	if b.Partition, err = podcount.Partition(l.Partition, replicas); err != nil {
		bad = append(bad, "partition: "+err.Error())
	}
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
