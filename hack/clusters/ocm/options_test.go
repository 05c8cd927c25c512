// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestProcessesReadBackTheirOptions(t *testing.T) {
	topology := Topology{
		HubKubeconfig: "/c/hub.kubeconfig",
		Members:       []Member{{"member-1", "/c/member-1.kubeconfig"}, {"member-2", "/c/a=b"}},
		Options:       Options{LeaseDuration: 4 * time.Second, Run: RunAll, APIDir: "/api"},
	}
	processes, err := StandIn{Executable: "/bin/clusters"}.Processes(topology)
	if err != nil {
		t.Fatal(err)
	}
	if len(processes) != 1 || processes[0].Path != "/bin/clusters" || processes[0].Args[0] != NewCommand().Name() {
		t.Fatalf("got %+v", processes)
	}
	read := NewOptions()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	read.AddFlags(flags)
	if err := flags.Parse(processes[0].Args[1:]); err != nil {
		t.Fatal(err)
	}
	want := topology.Options
	want.HubKubeconfig, want.Members = topology.HubKubeconfig, topology.Members
	if diff := cmp.Diff(&want, read); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	good := Options{HubKubeconfig: "f", LeaseDuration: time.Second, Run: RunHub, Members: []Member{{"a", "f"}}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, tt := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no hub":           {func(o *Options) { o.HubKubeconfig = "" }, "--hub-kubeconfig"},
		"short lease":      {func(o *Options) { o.LeaseDuration = time.Millisecond }, "--lease-duration"},
		"lease of half":    {func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond }, "--lease-duration"},
		"unknown part":     {func(o *Options) { o.Run = "both" }, "--run"},
		"bad name":         {func(o *Options) { o.Members[0].Name = "A_b" }, "A_b"},
		"name given twice": {func(o *Options) { o.Members = append(o.Members, o.Members[0]) }, "twice"},
	} {
		o := good
		o.Members = append([]Member(nil), good.Members...)
		tt.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemberFlagRefuses(t *testing.T) {
	for _, text := range []string{"", "a", "=f", "a="} {
		if err := new(memberList).Set(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
