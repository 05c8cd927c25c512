// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMount(t *testing.T) {
	for line, want := range map[string]mount{
		"36 35 98:0 / /mnt rw - ext4 /dev/sda rw":                           {"/mnt", "ext4"},
		`36 35 98:0 / /a\040b\134c rw shared:1 master:2 - cgroup cgroup rw`: {`/a b\c`, "cgroup"},
	} {
		if got, err := parseMount(line); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "36 35 98:0 / /mnt rw", "1 2 - ext4"} {
		if got, err := parseMount(line); err == nil {
			t.Errorf("%q is taken for %+v", line, got)
		}
	}
}

func TestIsShim(t *testing.T) {
	const socket = "/run/c.sock"
	for line, want := range map[string]bool{
		"/bin/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-address\x00/run/c.sock\x00": true,
		"/bin/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-address\x00/run/d.sock\x00": false,
		"/bin/containerd-shim-runc-v2\x00-address":                                            false,
		"/bin/other\x00-address\x00/run/c.sock\x00":                                           false,
		"": false,
	} {
		if got := isShim([]byte(line), socket); got != want {
			t.Errorf("%q: got %t", line, got)
		}
	}
}

func TestHostPortChain(t *testing.T) {
	p := place{slot: 1}
	for line, want := range map[string]string{
		`-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"flot1-1-2\" id: \"41ef\"" -m multiport --dports 8099 -j CNI-DN-1`:  "CNI-DN-1",
		`-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"flot11-1-2\" id: \"41ef\"" -m multiport --dports 8099 -j CNI-DN-1`: "",
		`-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT`:                                                                  "",
		`-N CNI-HOSTPORT-DNAT`: "",
	} {
		if got := p.hostPortChain(splitWords(line)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	want := []string{"-A", "X", "", `a "b" c`, "d"}
	if diff := cmp.Diff(want, splitWords(`-A X  "" "a \"b\" c" d`)); diff != "" {
		t.Error(diff)
	}
}
