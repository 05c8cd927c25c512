// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"time"

	"github.com/spf13/pflag"
)

// Options are the hub's own settings.
type Options struct {
	// Namespace of the hub's own objects.
	Namespace string
	// StaleAfter is how old an agent's lease may be before its counters count as stale.
	StaleAfter time.Duration
	// DropGrace is how long a reachable cluster keeps its share after OCM's decisions dropped it.
	DropGrace time.Duration
	// Workers is how many placements are worked on at a time.
	Workers int
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{StaleAfter: 40 * time.Second, DropGrace: time.Minute, Workers: 4}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.StaleAfter, "stale-after", o.StaleAfter, "how old a member agent's lease may be before its counters count as stale")
	fs.DurationVar(&o.DropGrace, "drop-grace", o.DropGrace, "how long a reachable cluster keeps its share after the decisions of OCM's Placement dropped it")
	fs.IntVar(&o.Workers, "placement-workers", o.Workers, "placements worked on at a time")
}
