// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const (
	deploymentText = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 7, paused: false}}`
	cloneSetText   = `{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: web, namespace: shop}, spec: {replicas: 7, updateStrategy: {rollingUpdate: {partition: 2, maxSurge: 1}}}}`
	cloneSetOld    = `{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: {name: web, namespace: shop}, spec: {updateStrategy: {type: ReCreate}}}`
	configMapText  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, uid: u, resourceVersion: "7", ownerReferences: [{}]}, data: {k: v}, status: {}}`
	bounded        = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop}
spec: {topology: {subsets: [{name: a, minReplicas: 1}, {name: b}]}}
`
	adaptive = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop}
spec: {topology: {scheduleStrategy: {type: Adaptive}, subsets: [{name: a}, {name: b}]}}
`
	manual = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop}
spec: {replicas: 9, updateStrategy: {type: Manual, manualUpdate: {partitions: {a: 4}}}, topology: {subsets: [{name: a, replicas: 9}]}}
`
)

func TestCompose(t *testing.T) {
	type n = map[string]int32
	const both = `{"name":"a","nodeSelectorTerm":"…"},{"name":"b","nodeSelectorTerm":"…"}`
	for name, tc := range map[string]struct {
		text                            string
		split, partitions               n
		base, splitSet, rolloutSet, all string
	}{
		"united deployment": {udText, n{"a": 3, "b": 2}, n{"a": 1, "b": 2},
			`{"topology":{"subsets":[` + both + `]}}`,
			`{"replicas":5,"topology":{"subsets":[{"name":"a","replicas":3},{"name":"b","replicas":2}]}}`,
			`{"updateStrategy":{"manualUpdate":{"partitions":{"a":1,"b":2}}}}`,
			`{"replicas":5,"topology":{"subsets":[{"name":"a","nodeSelectorTerm":"…","replicas":3},{"name":"b","nodeSelectorTerm":"…","replicas":2}]},"updateStrategy":{"manualUpdate":{"partitions":{"a":1,"b":2}}}}`},
		"united deployment, whole copy": {udText, nil, nil, `{"topology":{"subsets":[` + both + `]}}`, `null`, `null`, `{"topology":{"subsets":[` + both + `]}}`},
		"numbers of the hub go": {manual, n{"a": 3}, n{"a": 0},
			`{"topology":{"subsets":[{"name":"a"}]},"updateStrategy":{"type":"Manual"}}`,
			`{"replicas":3,"topology":{"subsets":[{"name":"a","replicas":3}]}}`, `{"updateStrategy":{"manualUpdate":{"partitions":{"a":0}}}}`,
			`{"replicas":3,"topology":{"subsets":[{"name":"a","replicas":3}]},"updateStrategy":{"manualUpdate":{"partitions":{"a":0}},"type":"Manual"}}`},
		"bounds are no place for a number": {bounded, n{"a": 3, "b": 2}, nil,
			`{"topology":{"subsets":[{"minReplicas":1,"name":"a"},{"name":"b"}]}}`,
			`{"replicas":5,"topology":{"subsets":[{"name":"b","replicas":2}]}}`, `null`,
			`{"replicas":5,"topology":{"subsets":[{"minReplicas":1,"name":"a"},{"name":"b","replicas":2}]}}`},
		"adaptive: the total alone": {adaptive, n{"": 6}, nil,
			`{"topology":{"scheduleStrategy":{"type":"Adaptive"},"subsets":[{"name":"a"},{"name":"b"}]}}`, `{"replicas":6}`, `null`,
			`{"replicas":6,"topology":{"scheduleStrategy":{"type":"Adaptive"},"subsets":[{"name":"a"},{"name":"b"}]}}`},
		"deployment": {deploymentText, n{"": 4}, nil, `{"paused":false}`, `{"replicas":4}`, `null`, `{"paused":false,"replicas":4}`},
		"clone set": {cloneSetText, n{"": 4}, n{"": 3}, `{"updateStrategy":{"rollingUpdate":{"maxSurge":1}}}`, `{"replicas":4}`,
			`{"updateStrategy":{"rollingUpdate":{"partition":3}}}`, `{"replicas":4,"updateStrategy":{"rollingUpdate":{"maxSurge":1,"partition":3}}}`},
		"clone set of the older version": {cloneSetOld, n{"": 4}, n{"": 3}, `{"updateStrategy":{"type":"ReCreate"}}`, `{"replicas":4}`,
			`{"updateStrategy":{"partition":3}}`, `{"replicas":4,"updateStrategy":{"partition":3,"type":"ReCreate"}}`},
		"clone set, whole copy": {cloneSetText, nil, nil, `{"replicas":7,"updateStrategy":{"rollingUpdate":{"maxSurge":1,"partition":2}}}`, `null`, `null`,
			`{"replicas":7,"updateStrategy":{"rollingUpdate":{"maxSurge":1,"partition":2}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			target := only(t, sliceWith(t, tc.text, tc.split, tc.partitions))
			for part, pair := range map[string][2]string{
				"base":    {tc.base, brief(target.base)},
				"split":   {tc.splitSet, brief(target.splitSet(nil))},
				"rollout": {tc.rolloutSet, brief(target.rolloutSet(nil, nil))},
				"whole":   {tc.all, brief(target.whole())},
			} {
				if d := cmp.Diff(pair[0], pair[1]); d != "" {
					t.Errorf("%s: %s", part, d)
				}
			}
		})
	}
}

func TestComposeMarksAndStrips(t *testing.T) {
	s := sliceWith(t, configMapText, nil, nil)
	s.Spec.Objects = append(s.Spec.Objects, raw(t, `{apiVersion: v1, kind: Namespace, metadata: {name: other}}`))
	targets, err := compose(s)
	if err != nil {
		t.Fatal(err)
	}
	marks := `labels: {fleet.kruise.io/slice: ud.shop.web}, annotations: {fleet.kruise.io/source: shop/web, internal.fleet.kruise.io/epoch: "1"}`
	want := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, `+marks+`}, data: {k: v}}`)
	if d := cmp.Diff(want, targets[0].base); d != "" {
		t.Error(d)
	}
	want = parse(t, `{apiVersion: v1, kind: Namespace, metadata: {name: other, `+marks+`}}`)
	if d := cmp.Diff(want, targets[1].base); d != "" {
		t.Error(d)
	}
}

func TestComposeRefuses(t *testing.T) {
	type n = map[string]int32
	long := sliceWith(t, configMapText, nil, nil)
	long.Name = strings.Repeat("x", 64)
	twice := sliceWith(t, configMapText, nil, nil)
	twice.Spec.Objects = append(twice.Spec.Objects, twice.Spec.Objects[0])
	none := sliceWith(t, configMapText, nil, nil)
	none.Spec.Objects = nil
	broken := sliceWith(t, configMapText, nil, nil)
	broken.Spec.Objects = []runtime.RawExtension{{Raw: []byte("{")}}
	for name, tc := range map[string]struct {
		slice *fleetv1alpha1.FleetSlice
		want  string
	}{
		"no JSON":               {broken, "spec.objects[0]"},
		"no kind":               {sliceWith(t, `{apiVersion: v1, metadata: {name: x}}`, nil, nil), "Kind"},
		"no name":               {sliceWith(t, `{apiVersion: v1, kind: ConfigMap}`, nil, nil), "metadata.name"},
		"unknown subset":        {sliceWith(t, udText, n{"c": 1}, nil), `subset "c"`},
		"partition of no one":   {sliceWith(t, udText, n{"a": 1}, n{"d": 1}), `subset "d"`},
		"kind has no partition": {sliceWith(t, deploymentText, n{"": 1}, n{"": 1}), "knows no partition"},
		"twice":                 {twice, "twice"},
		"nothing":               {none, "empty"},
		"name too long":         {long, "label"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compose(tc.slice)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want %q", err, tc.want)
			}
			if got := reasonOf(err); got != fleetv1alpha1.SliceReasonUnreadable {
				t.Errorf("reason = %s", got)
			}
		})
	}
}

// merged applies requests to an object as server-side apply would, as far as these tests need: who
// owns what is kept by owner.
type merged struct {
	parts map[string]*unstructured.Unstructured
}

func (m *merged) send(r request) *unstructured.Unstructured {
	if m.parts == nil {
		m.parts = map[string]*unstructured.Unstructured{}
	}
	if r.clear != nil {
		for _, part := range m.parts {
			unstructured.RemoveNestedField(part.Object, r.clear...)
		}
		return m.object()
	}
	m.parts[r.owner] = r.object.DeepCopy()
	return m.object()
}

func (m *merged) object() *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	for _, owner := range []string{fleetv1alpha1.TemplateFieldOwner, fleetv1alpha1.SplitFieldOwner, fleetv1alpha1.RolloutFieldOwner} {
		if part := m.parts[owner]; part != nil {
			join(out.Object, part.DeepCopy().Object)
		}
	}
	var holders []string
	for owner := range m.parts {
		holders = append(holders, owner)
	}
	out.SetManagedFields(managed(holders...))
	return out
}

// join is merge that also adds list items there are none of: what server-side apply does.
func join(base, over map[string]any) {
	for key, value := range over {
		list, isList := value.([]any)
		if !isList {
			if child, ok := value.(map[string]any); ok {
				if _, ok := base[key].(map[string]any); !ok {
					base[key] = map[string]any{}
				}
				join(base[key].(map[string]any), child)
				continue
			}
			base[key] = value
			continue
		}
		items, _ := base[key].([]any)
		for _, o := range list {
			found := false
			for _, b := range items {
				if bm, ok := b.(map[string]any); ok && bm["name"] == o.(map[string]any)["name"] {
					join(bm, o.(map[string]any))
					found = true
				}
			}
			if !found {
				items = append(items, o)
			}
		}
		base[key] = items
	}
}
