// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
)

const flagName = "feature-gates"

// withoutEffect are OpenKruise's gates that nothing here reads yet. They may be set, so that its flags
// can be taken over as they are.
var withoutEffect = []string{
	"CloneSetEventHandlerOptimization", "DaemonSetPruneIneligibleNodes",
	"DeletionProtectionForCRDCascadingGate", "EnableExternalCerts", "EnablePodProbeMarkerOnServerless",
	"EnableSortSidecarContainerByName", "EnhancedLivenessProbe", "ForceDeleteTimeoutExpectationGate", "ImagePullJobGate",
	"InPlacePodVerticalScaling", "InPlaceWorkloadVerticalScaling", "KruiseDaemon", "PodIndexLabel", "PodProbeMarkerGate",
	"PodUnavailableBudgetDeleteGate", "PodUnavailableBudgetUpdateGate", "PreDownloadImageForDaemonSetUpdate",
	"PreDownloadImageForInPlaceUpdate", "ResourceDistributionGate",
	"SidecarTerminator", "StatefulSetStartOrdinal", "WorkloadSpread",
}

// Flag is the value of --feature-gates.
type Flag struct {
	fallback pflag.Value
	idle     []string
}

// AddFlag binds Gate to --feature-gates. It takes OpenKruise's gates that have no effect here as well;
// names that neither knows are an error.
func AddFlag(fs *pflag.FlagSet) *Flag { return addFlag(fs, Gate) }

func addFlag(fs *pflag.FlagSet, gate featuregate.MutableFeatureGate) *Flag {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	gate.AddFlag(own)
	plain := own.Lookup(flagName)
	f := &Flag{fallback: plain.Value}
	fs.Var(f, flagName, plain.Usage)
	return f
}

// Idle names the gates that were set and have no effect, in order.
func (f *Flag) Idle() []string { return slices.Compact(slices.Sorted(slices.Values(f.idle))) }

// Set takes name=bool pairs, separated by commas.
func (f *Flag) Set(text string) error {
	var rest []string
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if name = strings.TrimSpace(name); !slices.Contains(withoutEffect, name) {
			rest = append(rest, pair)
			continue
		}
		if _, err := strconv.ParseBool(strings.TrimSpace(value)); err != nil {
			return fmt.Errorf("feature gate %s must be true or false, is %q", name, value)
		}
		f.idle = append(f.idle, name)
	}
	return f.fallback.Set(strings.Join(rest, ","))
}

// String returns what was set.
func (f *Flag) String() string {
	if f.fallback == nil {
		return ""
	}
	return f.fallback.String()
}

// Type names the value for help texts.
func (f *Flag) Type() string { return f.fallback.Type() }
