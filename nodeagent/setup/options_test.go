// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		args  []string
		wrong []string // words of the refusal; none = valid
		check func(*Options) bool
	}{
		"node from the environment":            {check: func(o *Options) bool { return o.NodeName == "from-env" && o.MetricsAddr == ":10221" }},
		"node by flag":                         {args: []string{"--node-name=n"}, check: func(o *Options) bool { return o.NodeName == "n" }},
		"addr is another name of metrics-addr": {args: []string{"--addr=:1"}, check: func(o *Options) bool { return o.MetricsAddr == ":1" }},
		"all of the daemon's (spec 8.1)": {
			args:  strings.Fields("--addr=:10221 --pprof-addr=:10222 --enable-pprof=true --plugin-config-file=/kruise/CredentialProviderPlugin.yaml --plugin-bin-dir=/kruise/plugins --max-workers-for-pull-image=-1 --rest-config-qps=0 --rest-config-burst=0 --socket-file= --feature-gates=PodWebhook=true --logtostderr=true -v=5"),
			check: func(o *Options) bool { return o.ProfileAddr == ":10222" && o.PullWorkers == -1 },
		},
		"no node":         {args: []string{"--node-name="}, wrong: []string{"--node-name", "NODE_NAME"}},
		"no workers":      {args: []string{"--container-meta-workers=0"}, wrong: []string{"--container-meta-workers", "at least 1"}},
		"no probes":       {args: []string{"--probes-at-once=0"}, wrong: []string{"--probes-at-once", "at least 1"}},
		"leader election": {args: []string{"--enable-leader-election"}, wrong: []string{"--enable-leader-election"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", "from-env")
			o := NewOptions()
			fs := pflag.NewFlagSet("", pflag.ContinueOnError)
			o.AddFlags(fs)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.Validate()
			if (err != nil) != (len(tc.wrong) > 0) {
				t.Fatalf("Validate: %v", err)
			}
			for _, word := range tc.wrong {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if tc.check != nil && !tc.check(o) {
				t.Errorf("options: %+v", o)
			}
		})
	}
}
