// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func hookAt(name, path string, timeout int64) any {
	return map[string]any{
		"name": name, "timeoutSeconds": timeout,
		"clientConfig": map[string]any{"service": map[string]any{"namespace": "x", "name": "y", "path": path}},
	}
}

func TestSortOut(t *testing.T) {
	a, b, c := hookAt("a", "/a", 1), hookAt("b", "/b", 1), hookAt("c", "/c", 1)
	newer, gone := hookAt("b", "/b", 2), hookAt("gone", "/gone", 1)
	off := func(path string) bool { return path == "/b" }
	none := func(string) bool { return false }
	known := func(path string) bool { return path != "/gone" }
	for name, tc := range map[string]struct {
		off       func(string) bool
		now, want sorted
	}{
		"gate goes off":                    {off, sorted{live: []any{a, b, c}}, sorted{live: []any{a, c}, aside: []any{b}}},
		"stays off":                        {off, sorted{live: []any{a, c}, aside: []any{b}}, sorted{live: []any{a, c}, aside: []any{b}}},
		"manifests are applied again":      {off, sorted{live: []any{a, newer, c}, aside: []any{b}}, sorted{live: []any{a, c}, aside: []any{newer}}},
		"gate goes on":                     {none, sorted{live: []any{a, c}, aside: []any{b}}, sorted{live: []any{a, c, b}}},
		"gate goes on after an apply":      {none, sorted{live: []any{a, newer, c}, aside: []any{b}}, sorted{live: []any{a, newer, c}}},
		"two webhooks of one path":         {off, sorted{live: []any{hookAt("z", "/b", 1), b}}, sorted{aside: []any{b, hookAt("z", "/b", 1)}}},
		"of a path that is served no more": {none, sorted{live: []any{a}, aside: []any{gone}}, sorted{live: []any{a}}},
		"unknown but live":                 {none, sorted{live: []any{a, gone}}, sorted{live: []any{a, gone}}},
	} {
		if d := cmp.Diff(tc.want, sortOut(tc.now, tc.off, known), cmp.AllowUnexported(sorted{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestNoEntryIsEverLost: whatever order gates change, manifests are applied and the keeper passes in, each entry
// is live or set aside, never both after a pass, live where its gate is on; and a second pass changes nothing.
func TestNoEntryIsEverLost(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		cfg := newConfig(mutatingGVK)
		o := &Options{Component: "c", Namespace: "ns", Service: "svc", served: map[string]bool{}}
		names := []string{"a", "b", "c", "d"}
		apply := func() {
			now, err := entriesOf(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if !slices.ContainsFunc(now.live, func(h any) bool { return nameOfHook(h) == name }) {
					now.live = append(now.live, hookAt(name, "/"+name, 5))
				}
			}
			cfg.Object["webhooks"] = now.live
		}
		apply()
		for range 12 {
			if random.IntN(3) == 0 {
				apply()
			}
			for _, name := range names {
				o.served["/"+name] = random.IntN(2) == 0
			}
			pass(t, o, cfg)
			now, err := entriesOf(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var live, aside, wantLive, wantAside []string
			for _, h := range now.live {
				live = append(live, nameOfHook(h))
			}
			for _, h := range now.aside {
				aside = append(aside, nameOfHook(h))
			}
			for _, name := range names {
				if o.served["/"+name] {
					wantAside = append(wantAside, name)
				} else {
					wantLive = append(wantLive, name)
				}
			}
			slices.Sort(live)
			if d := cmp.Diff([][]string{wantLive, wantAside}, [][]string{live, aside}); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
			if patch, err := o.webhookPatch(cfg, []byte("ca"), true); patch != nil || err != nil {
				t.Fatalf("seed %d: a second pass writes: %v, %v", seed, patch, err)
			}
		}
	}
}

// pass lets the keeper look at a configuration.
func pass(t *testing.T, o *Options, cfg *unstructured.Unstructured) {
	t.Helper()
	patch, err := o.webhookPatch(cfg, []byte("ca"), true)
	if err != nil {
		t.Fatal(err)
	}
	if patch != nil {
		merge(t, cfg, patch)
	}
}

// merge does what the API server does with a merge patch of webhooks and annotations.
func merge(t *testing.T, cfg *unstructured.Unstructured, patch client.Patch) {
	t.Helper()
	data, err := patch.Data(cfg)
	if err != nil {
		t.Fatal(err)
	}
	holder := unstructured.Unstructured{}
	if err := holder.UnmarshalJSON([]byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"Patch","body":%s}`, data))); err != nil {
		t.Fatal(err)
	}
	body := holder.Object["body"].(map[string]any)
	cfg.Object["webhooks"] = body["webhooks"]
	if body["webhooks"] == nil {
		delete(cfg.Object, "webhooks")
	}
	annotations, _, _ := unstructured.NestedMap(body, "metadata", "annotations")
	for key, value := range annotations {
		if text, ok := value.(string); ok {
			cfg.SetAnnotations(map[string]string{key: text})
		} else {
			cfg.SetAnnotations(nil)
		}
	}
	if _, err := json.Marshal(cfg.Object); err != nil {
		t.Fatal(err)
	}
}

// A replica that does not lead tells whom to trust, and leaves gates alone.
func TestOnlyTheLeaderSortsOut(t *testing.T) {
	o := &Options{Component: "c", Namespace: "ns", Service: "svc", served: map[string]bool{"/a": true, "/b": false}}
	cfg := newConfig(mutatingGVK)
	cfg.Object["webhooks"] = []any{hookAt("a", "/a", 1)}
	cfg.SetAnnotations(map[string]string{asideAnnotation: `[{"name":"b","clientConfig":{"url":"https://h/b"}}]`})
	patch, err := o.webhookPatch(cfg, []byte("ca"), false)
	if err != nil || patch == nil {
		t.Fatal(patch, err)
	}
	merge(t, cfg, patch)
	now, err := entriesOf(cfg)
	if err != nil || len(now.live) != 1 || len(now.aside) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
	pass(t, o, cfg)
	now, err = entriesOf(cfg)
	if err != nil || len(now.live) != 1 || nameOfHook(now.live[0]) != "b" || len(now.aside) != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestSpoiltAnnotationIsAnError(t *testing.T) {
	cfg := newConfig(mutatingGVK)
	cfg.SetAnnotations(map[string]string{asideAnnotation: "{"})
	if _, err := (&Options{}).webhookPatch(cfg, nil, true); err == nil {
		t.Error("an annotation that cannot be read is overwritten, and what was in it lost")
	}
}
