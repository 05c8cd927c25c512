// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

const united = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 4
  unknown: "1"
  template:
    cloneSetTemplate:
      metadata: {labels: {app: web}}
      spec:
        template:
          metadata: {labels: {app: web}}
          spec:
            containers:
            - {name: main, image: "web:1", env: [{name: A, value: "on"}]}
            - {name: side, image: "side:1"}
  topology:
    subsets:
    - {name: a, tolerations: [{key: k, operator: Exists}]}
    - {name: b}
`

func override1(kind fleetv1alpha1.PatchType, selector map[string]string, patch string) fleetv1alpha1.Override {
	data, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		panic(err)
	}
	return fleetv1alpha1.Override{Type: kind, ClusterSelector: metav1.LabelSelector{MatchLabels: selector}, Patch: runtime.RawExtension{Raw: data}}
}

func render(t *testing.T, base *unstructured.Unstructured, list ...fleetv1alpha1.Override) (*unstructured.Unstructured, error) {
	t.Helper()
	o, err := Compile(list)
	if err != nil {
		return nil, err
	}
	return New().Render(base, o.Matching(map[string]string{"env": "prod"}))
}

func TestRender(t *testing.T) {
	image := func(want string) func(u *unstructured.Unstructured) string {
		return func(u *unstructured.Unstructured) string {
			list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "cloneSetTemplate", "spec", "template", "spec", "containers")
			var parts []string
			for _, c := range list {
				parts = append(parts, fmt.Sprint(c.(map[string]any)["name"], "=", c.(map[string]any)["image"]))
			}
			return cmp.Diff(want, strings.Join(parts, " "))
		}
	}
	for name, tc := range map[string]struct {
		overrides []fleetv1alpha1.Override
		check     func(*unstructured.Unstructured) string
	}{
		"containers merge by name": {[]fleetv1alpha1.Override{override1("", nil, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: main, image: "web:2"}]}}}}}}}`)}, image("main=web:2 side=side:1")},
		"a container goes":         {[]fleetv1alpha1.Override{override1(fleetv1alpha1.PatchStrategicMerge, nil, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: side, $patch: delete}]}}}}}}}`)}, image("main=web:1")},
		"JSON6902":                 {[]fleetv1alpha1.Override{override1(fleetv1alpha1.PatchJSON6902, nil, `[{op: replace, path: /spec/template/cloneSetTemplate/spec/template/spec/containers/1/image, value: "side:2"}]`)}, image("main=web:1 side=side:2")},
		"order stays":              {[]fleetv1alpha1.Override{override1("", nil, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: new, image: "n:1"}, {name: side, image: "side:2"}]}}}}}}}`)}, image("main=web:1 side=side:2 new=n:1")},
		"in order": {[]fleetv1alpha1.Override{
			override1("", nil, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: main, image: "web:2"}]}}}}}}}`),
			override1("", map[string]string{"env": "prod"}, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: main, image: "web:3"}]}}}}}}}`),
			override1("", map[string]string{"env": "test"}, `{spec: {template: {cloneSetTemplate: {spec: {template: {spec: {containers: [{name: main, image: "web:4"}]}}}}}}}`),
		}, image("main=web:3 side=side:1")},
		"subsets merge by name": {[]fleetv1alpha1.Override{override1("", nil, `{spec: {topology: {subsets: [{name: b, patch: {x: z}}]}}}`)}, func(u *unstructured.Unstructured) string {
			list, _, _ := unstructured.NestedSlice(u.Object, "spec", "topology", "subsets")
			return cmp.Diff([]any{
				map[string]any{"name": "a", "tolerations": []any{map[string]any{"key": "k", "operator": "Exists"}}},
				map[string]any{"name": "b", "patch": map[string]any{"x": "z"}},
			}, list)
		}},
		"the rest stays as it is": {[]fleetv1alpha1.Override{override1("", nil, `{metadata: {labels: {tier: gold}}}`)}, func(u *unstructured.Unstructured) string {
			want := object(t, united)
			want.SetLabels(map[string]string{"app": "web", "tier": "gold"})
			return cmp.Diff(want.Object, u.Object)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			base := object(t, united)
			got, err := render(t, base, tc.overrides...)
			if err != nil {
				t.Fatal(err)
			}
			if d := tc.check(got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(object(t, united).Object, base.Object); d != "" {
				t.Errorf("the base changed: %s", d)
			}
		})
	}
}

// TestUnknownKindGetsMergePatch: lists of a kind nobody knows are replaced.
func TestUnknownKindGetsMergePatch(t *testing.T) {
	got, err := render(t, object(t, "{apiVersion: x.io/v1, kind: Thing, metadata: {name: t}, spec: {containers: [{name: a, n: 1}], keep: true}}"),
		override1("", nil, "{spec: {containers: [{name: b}], gone: null}}"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"containers": []any{map[string]any{"name": "b"}}, "keep": true}, got.Object["spec"]); d != "" {
		t.Error(d)
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		override fleetv1alpha1.Override
		want     string
	}{
		"missing path":     {override1(fleetv1alpha1.PatchJSON6902, nil, "[{op: replace, path: /spec/no/such, value: 1}]"), "spec.overrides[0].patch"},
		"not operations":   {override1(fleetv1alpha1.PatchJSON6902, nil, "{a: b}"), "spec.overrides[0].patch"},
		"not an object":    {override1("", nil, "[1]"), "spec.overrides[0].patch: a strategic merge patch is an object"},
		"another name":     {override1(fleetv1alpha1.PatchJSON6902, nil, "[{op: replace, path: /metadata/name, value: x}]"), "must not change name"},
		"another kind":     {override1(fleetv1alpha1.PatchJSON6902, nil, "[{op: replace, path: /kind, value: Pod}]"), "must not change apiVersion and kind"},
		"delete it all":    {override1("", nil, "{$patch: delete}"), "spec.overrides[0].patch: deletes the whole object"},
		"empty patch":      {fleetv1alpha1.Override{}, "spec.overrides[0].patch: is empty"},
		"unreadable label": {fleetv1alpha1.Override{ClusterSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}, "spec.overrides[0].clusterSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, object(t, united), tc.override)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRenderRemembers(t *testing.T) {
	r := New()
	o, err := Compile([]fleetv1alpha1.Override{override1("", nil, "{metadata: {labels: {a: b}}}")})
	if err != nil {
		t.Fatal(err)
	}
	first, err := r.Render(object(t, united), o)
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := r.Render(object(t, united), o); second != first {
		t.Error("rendered twice")
	}
	base := object(t, united)
	if same, _ := r.Render(base, o.Matching(nil).Matching(nil)); same == base {
		t.Error("overrides with an empty selector do not apply")
	}
	if none, _ := r.Render(base, Overrides{}); none != base {
		t.Error("copied without need")
	}
}

// TestHundredClusters: a hundred clusters with an override of their own each take well under two seconds.
func TestHundredClusters(t *testing.T) {
	var list []fleetv1alpha1.Override
	for i := range 100 {
		list = append(list, override1("", map[string]string{"c": fmt.Sprint(i)}, fmt.Sprintf(`{metadata: {labels: {cluster: c%d}}}`, i)))
	}
	o, err := Compile(list)
	if err != nil {
		t.Fatal(err)
	}
	start, r, base := time.Now(), New(), object(t, united)
	for i := range 100 {
		got, err := r.Render(base, o.Matching(map[string]string{"c": fmt.Sprint(i)}))
		if err != nil || got.GetLabels()["cluster"] != fmt.Sprint("c", i) {
			t.Fatal(got, err)
		}
	}
	t.Logf("100 clusters in %v", time.Since(start))
}

func TestBase(t *testing.T) {
	u := object(t, united)
	u.SetUID("1")
	u.SetResourceVersion("7")
	u.SetGeneration(3)
	u.SetFinalizers([]string{fleetv1alpha1.CleanupFinalizer})
	u.SetLabels(map[string]string{"app": "web", "fleet.kruise.io/x": "y", "internal.fleet.kruise.io/x": "y"})
	u.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "note": "n"})
	u.Object["status"] = map[string]any{"replicas": int64(1)}
	want := object(t, united)
	want.SetAnnotations(map[string]string{"note": "n"})
	got := Base(u)
	if d := cmp.Diff(want.Object, got.Object); d != "" {
		t.Error(d)
	}
	if _, err := json.Marshal(got.Object); err != nil {
		t.Error(err)
	}
	cluster := Base(object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"))
	if d := cmp.Diff(map[string]any{"name": "ns"}, cluster.Object["metadata"]); d != "" {
		t.Error(d)
	}
}
