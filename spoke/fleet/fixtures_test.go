// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// udText is a UnitedDeployment with subsets a and b, as the hub renders it.
const udText = `
apiVersion: apps.kruise.io/v1beta1
kind: UnitedDeployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    cloneSetTemplate:
      metadata: {labels: {app: web}}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec: {containers: [{name: main, image: "web:v1"}]}
  topology:
    subsets:
    - {name: a, nodeSelectorTerm: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}
    - {name: b, nodeSelectorTerm: {matchExpressions: [{key: zone, operator: In, values: [b]}]}}
`

func raw(t testing.TB, text string) runtime.RawExtension {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw(t, text).Raw); err != nil {
		t.Fatal(err)
	}
	return obj
}

// sliceWith carries one object; the numbers are by subset.
func sliceWith(t testing.TB, text string, split, partitions map[string]int32) *fleetv1alpha1.FleetSlice {
	t.Helper()
	s := &fleetv1alpha1.FleetSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "member-1", Name: "ud.shop.web", UID: "slice-uid", Generation: 1, Finalizers: []string{fleetv1alpha1.SliceFinalizer}},
		Spec: fleetv1alpha1.FleetSliceSpec{
			Epoch:   1,
			Source:  fleetv1alpha1.SliceSource{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Namespace: "shop", Name: "web", UID: "hub-uid"},
			Objects: []runtime.RawExtension{raw(t, text)},
		},
	}
	for _, name := range []string{"", "a", "b", "c", "d"} {
		if n, ok := split[name]; ok {
			s.Spec.Split = append(s.Spec.Split, fleetv1alpha1.SubsetReplicas{Subset: name, Replicas: n})
		}
		if n, ok := partitions[name]; ok {
			s.Spec.Partitions = append(s.Spec.Partitions, fleetv1alpha1.SubsetPartition{Subset: name, Partition: n})
		}
	}
	return s
}

// only composes a slice of one object.
func only(t testing.TB, s *fleetv1alpha1.FleetSlice) *target {
	t.Helper()
	targets, err := compose(s)
	if err != nil || len(targets) != 1 {
		t.Fatalf("%d targets, err = %v", len(targets), err)
	}
	return targets[0]
}

// brief is the spec of an object without selector and template, as JSON.
func brief(obj *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
	delete(spec, "selector")
	delete(spec, "template")
	for _, item := range subsetItems(&unstructured.Unstructured{Object: map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind(), "spec": spec}}) {
		if _, ok := item["nodeSelectorTerm"]; ok {
			item["nodeSelectorTerm"] = "…"
		}
	}
	data, _ := json.Marshal(spec)
	return string(data)
}
