// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func valid() Options {
	return Options{Name: "t", Members: 2, FakeNodes: 3, Zones: []string{"a", "b"}, Components: ComponentsAll, LeaseSeconds: 5}
}

func TestValidateNamesTheFlag(t *testing.T) {
	for flag, spoil := range map[string]func(*Options){
		"--name":       func(o *Options) { o.Name = "Not OK" },
		"--members":    func(o *Options) { o.Members = 0 },
		"--fake-nodes": func(o *Options) { o.FakeNodes = -1 },
		"--real-nodes": func(o *Options) { o.RealNodes = 17 },
		"--zones":      func(o *Options) { o.Zones = []string{"a", "a"} },
		"--components": func(o *Options) { o.Components = "some" },

		"--lease-seconds": func(o *Options) { o.LeaseSeconds = 0 },
		"--ocm-binaries":  func(o *Options) { o.OCMBinaries = "/somewhere" },
	} {
		o := valid()
		if err := o.Validate(); err != nil {
			t.Fatalf("valid options: %v", err)
		}
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: got %v", flag, err)
		}
	}
	for _, zones := range [][]string{nil, {""}, {"no spaces"}} {
		o := valid()
		o.Zones = zones
		if o.Validate() == nil {
			t.Errorf("zones %q were taken", zones)
		}
	}
}

func TestMergeTakesOnlyTheFlagsGiven(t *testing.T) {
	old := valid()
	asked := Options{Name: "t", Members: 3, FakeNodes: 9, RealNodes: 1, Zones: []string{"x"}, Components: ComponentsNone, Audit: true, LeaseSeconds: 60}
	want := old
	want.FakeNodes, want.Audit = 9, true
	got, err := Merge(old, asked, func(flag string) bool { return flag == "fake-nodes" || flag == "audit" })
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, diff %s", err, diff)
	}
	got, err = Merge(old, asked, func(string) bool { return true })
	if diff := cmp.Diff(asked, got); err != nil || diff != "" {
		t.Errorf("error %v, diff %s", err, diff)
	}
	asked.Members = 1
	if _, err := Merge(old, asked, func(string) bool { return true }); err == nil {
		t.Error("a member was taken away")
	}
}

func TestParseZones(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b-1"}, ParseZones(" a, b-1,,")); diff != "" {
		t.Error(diff)
	}
}
