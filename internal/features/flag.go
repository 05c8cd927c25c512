// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

const flagName = "feature-gates"

// Gate holds the gates of this process; flag --feature-gates sets it.
var Gate featuregate.MutableFeatureGate = newGate()

// Enabled tells whether a gate is on.
func Enabled(f featuregate.Feature) bool { return Gate.Enabled(f) }

func newGate() featuregate.MutableFeatureGate {
	specs := map[featuregate.Feature]featuregate.FeatureSpec{}
	for _, g := range Gates() {
		spec := featuregate.FeatureSpec{Default: g.Default, PreRelease: featuregate.Alpha}
		if g.Stage == Beta {
			spec.PreRelease = featuregate.Beta
		}
		specs[g.Name] = spec
	}
	gate := featuregate.NewFeatureGate()
	runtime.Must(gate.Add(specs))
	return gate
}

// Flag is the value of --feature-gates.
type Flag struct {
	pflag.Value
	gate featuregate.MutableFeatureGate
	set  []string
}

// AddFlag binds Gate to --feature-gates. It takes name=bool pairs, separated by commas; names that are no
// gate's are an error.
func AddFlag(fs *pflag.FlagSet) *Flag { return addFlag(fs, Gate) }

func addFlag(fs *pflag.FlagSet, gate featuregate.MutableFeatureGate) *Flag {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	gate.AddFlag(own)
	plain := own.Lookup(flagName)
	f := &Flag{Value: plain.Value, gate: gate}
	fs.Var(f, flagName, plain.Usage)
	return f
}

// Set takes what one flag says.
func (f *Flag) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		f.set = append(f.set, strings.TrimSpace(name))
	}
	return f.Value.Set(text)
}

// Idle names the gates that were set and have no effect, in order.
func (f *Flag) Idle() []string {
	var idle []string
	for _, g := range Gates() {
		if len(g.Readers) == 0 && slices.Contains(f.set, string(g.Name)) {
			idle = append(idle, string(g.Name))
		}
	}
	return idle
}

// Settle sets the gates that others demand or forbid, and says which. Call it once, after parsing.
func (f *Flag) Settle() ([]Change, error) {
	changes := Dependents(f.gate.Enabled)
	values := map[string]bool{}
	for _, c := range changes {
		values[string(c.Gate)] = c.On
	}
	return changes, f.gate.SetFromMap(values)
}
