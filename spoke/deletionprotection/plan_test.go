// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package deletionprotection

import (
	"errors"
	"strings"
	"testing"
)

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		value    string
		deleting bool
		on       cascade
		want     step
	}{
		"no label":                 {"", false, replicas, pass},
		"another value":            {"always", false, replicas, pass},
		"a value of others":        {"true", false, nothing, pass},
		"Always":                   {always, false, replicas, refuse},
		"Always, deleting":         {always, true, replicas, pass},
		"Always of a namespace":    {always, false, content, refuse},
		"Always of a definition":   {always, false, instances, refuse},
		"Always of a service":      {always, false, nothing, refuse},
		"Cascading of a service":   {cascading, false, nothing, pass},
		"Cascading":                {cascading, false, replicas, look},
		"Cascading, deleting":      {cascading, true, replicas, pass},
		"Cascading of a namespace": {cascading, false, content, look},
	} {
		if got := next(tc.value, tc.deleting, tc.on); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestJudge(t *testing.T) {
	const prefix = "forbidden by ResourcesProtectionDeletion for policy.kruise.io/delete-protection=Cascading: "
	pods := finding{one: "active pod", many: "active pods"}
	with := func(n int, more bool) finding {
		f := pods
		f.count, f.more = n, more
		return f
	}
	for name, tc := range map[string]struct {
		found  finding
		lookup error
		want   string
	}{
		"nothing":    {pods, nil, ""},
		"one":        {with(1, false), nil, "1 active pod"},
		"several":    {with(3, false), nil, "3 active pods"},
		"many":       {with(100, true), nil, "at least 100 active pods"},
		"one of any": {with(1, true), nil, "at least 1 active pod"},
		"unknown":    {pods, errors.New("cannot list its pods: no"), "cannot list its pods: no"},
	} {
		want := tc.want
		if want != "" {
			want = prefix + want
		}
		if got := judge(cascading, tc.found, tc.lookup); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := refusal(always, ""); got != strings.TrimSuffix(strings.Replace(prefix, cascading, always, 1), ": ") {
		t.Error(got)
	}
}

func TestKindsAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range Paths() {
		if seen[path] {
			t.Errorf("%s is there twice", path)
		}
		seen[path] = true
	}
	if len(Webhooks(Options{})) != len(seen) || len(seen) != 10 {
		t.Errorf("%d webhooks of %d kinds, want 10", len(Webhooks(Options{})), len(seen))
	}
}
