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
		idle []string
		err  string
	}{
		"ours":                     {args: []string{"CloneSetShortHash=true,PodWebhook=false"}, on: []featuregate.Feature{CloneSetShortHash}, off: []featuregate.Feature{PodWebhook}},
		"OpenKruise's as it ships": {args: []string{"ImagePullJobGate=true"}, idle: []string{"ImagePullJobGate"}},
		"both, spaced, repeated": {
			args: []string{"WorkloadSpread=false, CloneSetShortHash=true ,KruiseDaemon=true", "KruiseDaemon=false"},
			on:   []featuregate.Feature{CloneSetShortHash}, idle: []string{"KruiseDaemon", "WorkloadSpread"},
		},
		"all of a stage":   {args: []string{"AllAlpha=true,AllBeta=true,EnableExternalCerts=false,TemplateNoDefaults=false"}, on: []featuregate.Feature{CloneSetShortHash, PodWebhook}, off: []featuregate.Feature{TemplateNoDefaults}, idle: []string{"EnableExternalCerts"}},
		"empty":            {args: []string{""}, on: []featuregate.Feature{PodWebhook}},
		"unknown":          {args: []string{"ImagePullJobGate=true,NoSuchGate=true"}, err: "NoSuchGate"},
		"no value":         {args: []string{"ImagePullJobGate"}, err: "must be true or false"},
		"value is no bool": {args: []string{"ImagePullJobGate=maybe"}, err: "must be true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			gate, fs := newGate(), pflag.NewFlagSet("test", pflag.ContinueOnError)
			flag := addFlag(fs, gate)
			var args []string
			for _, a := range tc.args {
				args = append(args, "--feature-gates="+a)
			}
			err := fs.Parse(args)
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
			if d := cmp.Diff(tc.idle, flag.Idle()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A gate that something reads must not be swallowed.
func TestGatesWithoutEffectAreNotOurs(t *testing.T) {
	ours := newGate().GetAll()
	for _, name := range withoutEffect {
		if _, known := ours[featuregate.Feature(name)]; known {
			t.Errorf("%s is a gate of ours", name)
		}
	}
	if n := len(withoutEffect) + len(ours) - 2; n != 36 { // less AllAlpha and AllBeta
		t.Errorf("%d names are known, OpenKruise has 36", n)
	}
}
