// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
)

func TestFlag(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		on   []featuregate.Feature
		off  []featuregate.Feature
		err  string
	}{
		"some":      {args: []string{"CloneSetShortHash=true,KruisePodReadinessGate=false"}, on: []featuregate.Feature{CloneSetShortHash}, off: []featuregate.Feature{KruisePodReadinessGate}},
		"as ships":  {args: []string{"ImagePullJobGate=true"}, on: []featuregate.Feature{ImagePullJobGate}},
		"forbidden": {args: []string{"PodWebhook=false,KruisePodReadinessGate=true"}, off: []featuregate.Feature{PodWebhook, KruisePodReadinessGate, WorkloadSpread}},
		"demanded":  {args: []string{"PreDownloadImageForInPlaceUpdate=true,ImagePullJobGate=false"}, on: []featuregate.Feature{ImagePullJobGate}},
		"spaced, repeated": {
			args: []string{"WorkloadSpread=false, CloneSetShortHash=true ,KruiseDaemon=true", "KruiseDaemon=false"},
			on:   []featuregate.Feature{CloneSetShortHash, PodWebhook}, off: []featuregate.Feature{WorkloadSpread, KruiseDaemon, DaemonWatchingPod},
		},
		"all of a stage": {
			args: []string{"AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false"},
			on:   []featuregate.Feature{CloneSetShortHash, PodWebhook, ResourcesDeletionProtection, DeletionProtectionForCRDCascadingGate},
			off:  []featuregate.Feature{TemplateNoDefaults, EnableExternalCerts},
		},
		"none of a stage":  {args: []string{"AllBeta=false,KruiseDaemon=true"}, on: []featuregate.Feature{KruiseDaemon}, off: []featuregate.Feature{PodWebhook, PodIndexLabel}},
		"empty":            {args: []string{""}, on: []featuregate.Feature{PodWebhook}},
		"unknown":          {args: []string{"ImagePullJobGate=true,NoSuchGate=true"}, err: "NoSuchGate"},
		"no value":         {args: []string{"ImagePullJobGate"}, err: "missing bool value"},
		"value is no bool": {args: []string{"ImagePullJobGate=maybe"}, err: "invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			gate, _, err := parse(tc.args...)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range tc.on {
				if !gate.Enabled(f) {
					t.Errorf("%s is off", f)
				}
			}
			for _, f := range tc.off {
				if gate.Enabled(f) {
					t.Errorf("%s is on", f)
				}
			}
		})
	}
}

// parse makes gates of these flags.
func parse(values ...string) (featuregate.FeatureGate, *Flag, error) {
	gate, fs := newGate(), pflag.NewFlagSet("test", pflag.ContinueOnError)
	flag := addFlag(fs, gate)
	var args []string
	for _, v := range values {
		args = append(args, "--feature-gates="+v)
	}
	if err := fs.Parse(args); err != nil {
		return nil, nil, err
	}
	_, err := flag.Settle()
	return gate, flag, err
}

// What is asked for and does nothing is said; what a stage brings with it is not.
func TestIdleGatesAreNamed(t *testing.T) {
	_, flag, err := parse("AllAlpha=true,PodWebhook=true, StatefulSetStartOrdinal=true", "ForceDeleteTimeoutExpectationGate=false,StatefulSetStartOrdinal=true")
	if err != nil {
		t.Fatal(err)
	}
	idle := map[string]bool{}
	for _, g := range Gates() {
		idle[string(g.Name)] = len(g.Readers) == 0
	}
	var want []string
	for _, name := range []string{"ForceDeleteTimeoutExpectationGate", "PodWebhook", "StatefulSetStartOrdinal"} {
		if idle[name] {
			want = append(want, name)
		}
	}
	if d := cmp.Diff(want, flag.Idle()); d != "" {
		t.Error(d)
	}
}
