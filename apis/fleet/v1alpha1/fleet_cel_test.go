// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package v1alpha1_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// celCase is one object and, when the API server must refuse it, a part of its reason. An update is
// the spec that the object, once made, is changed to.
type celCase struct{ spec, update, want string }

const (
	target = `targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: UnitedDeployment, name: web}`
	source = `source: {apiVersion: v1, kind: ConfigMap, name: c, uid: u}`
)

func TestFleetPlacementSchema(t *testing.T) {
	runCases(t, "FleetPlacement", map[string]celCase{
		"by selector":                 {spec: `{` + target + `, clusterSelector: {}}`},
		"by names":                    {spec: `{` + target + `, clusterNames: [a]}`},
		"by placement":                {spec: `{` + target + `, placementRef: {name: p}}`},
		"by nothing":                  {spec: `{` + target + `}`, want: "set exactly one of spec.placementRef, spec.clusterSelector and spec.clusterNames"},
		"by selector and names":       {spec: `{` + target + `, clusterSelector: {}, clusterNames: [a]}`, want: "set exactly one of spec.placementRef, spec.clusterSelector and spec.clusterNames"},
		"by all three":                {spec: `{` + target + `, placementRef: {name: p}, clusterSelector: {}, clusterNames: [a]}`, want: "set exactly one of"},
		"another way later":           {spec: `{` + target + `, clusterSelector: {}}`, update: `{` + target + `, clusterNames: [a]}`},
		"another target later":        {spec: `{` + target + `, clusterSelector: {}}`, update: `{targetRef: {apiVersion: v1, kind: ConfigMap, name: web}, clusterSelector: {}}`, want: "spec.targetRef is immutable: delete this placement and make another"},
		"no target":                   {spec: `{clusterSelector: {}}`, want: "spec.targetRef: Required value"},
		"target without a name":       {spec: `{targetRef: {apiVersion: v1, kind: ConfigMap, name: ""}, clusterSelector: {}}`, want: "spec.targetRef.name"},
		"no names":                    {spec: `{` + target + `, clusterNames: []}`, want: "spec.clusterNames"},
		"a name twice":                {spec: `{` + target + `, clusterNames: [a, a]}`, want: "Duplicate value"},
		"mode":                        {spec: `{` + target + `, clusterSelector: {}, division: {mode: Duplicated}}`},
		"unknown mode":                {spec: `{` + target + `, clusterSelector: {}, division: {mode: Shuffled}}`, want: "spec.division.mode: Unsupported value"},
		"weight":                      {spec: `{` + target + `, clusterSelector: {}, division: {weights: [{clusterSelector: {}, weight: 0}]}}`},
		"weight below zero":           {spec: `{` + target + `, clusterSelector: {}, division: {weights: [{clusterSelector: {}, weight: -1}]}}`, want: "spec.division.weights[0].weight"},
		"weight beyond a million":     {spec: `{` + target + `, clusterSelector: {}, division: {weights: [{clusterSelector: {}, weight: 1000001}]}}`, want: "spec.division.weights[0].weight"},
		"override":                    {spec: `{` + target + `, clusterSelector: {}, overrides: [{clusterSelector: {}, patch: {spec: {any: thing}}}, {clusterSelector: {}, type: JSON6902, patch: [{op: remove, path: /a}]}]}`},
		"override of an unknown type": {spec: `{` + target + `, clusterSelector: {}, overrides: [{clusterSelector: {}, type: Merge, patch: {}}]}`, want: "spec.overrides[0].type: Unsupported value"},
		"deletion policy":             {spec: `{` + target + `, clusterSelector: {}, deletionPolicy: Orphan}`},
		"unknown deletion policy":     {spec: `{` + target + `, clusterSelector: {}, deletionPolicy: Sell}`, want: "spec.deletionPolicy: Unsupported value"},
		"adoption":                    {spec: `{` + target + `, clusterSelector: {}, adoption: Always}`},
		"unknown adoption":            {spec: `{` + target + `, clusterSelector: {}, adoption: Perhaps}`, want: "spec.adoption: Unsupported value"},
		"a field that does not exist": {spec: `{` + target + `, clusterSelector: {}, clusterName: a}`, want: `unknown field "spec.clusterName"`},
	})
}

func TestFleetSliceSchema(t *testing.T) {
	const objects = `objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {any: thing}}]`
	runCases(t, "FleetSlice", map[string]celCase{
		"sound":                {spec: `{` + source + `, ` + objects + `, split: [{subset: "", replicas: 0}], partitions: [{subset: a, partition: 1}]}`},
		"no objects":           {spec: `{` + source + `, objects: []}`, want: "spec.objects"},
		"no source":            {spec: `{` + objects + `}`, want: "spec.source: Required value"},
		"a subset twice":       {spec: `{` + source + `, ` + objects + `, split: [{subset: a, replicas: 0}, {subset: a, replicas: 1}]}`, want: "Duplicate value"},
		"replicas below zero":  {spec: `{` + source + `, ` + objects + `, split: [{subset: a, replicas: -1}]}`, want: "spec.split[0].replicas"},
		"partition below zero": {spec: `{` + source + `, ` + objects + `, partitions: [{subset: a, partition: -1}]}`, want: "spec.partitions[0].partition"},
		"epoch below zero":     {spec: `{` + source + `, ` + objects + `, epoch: -1}`, want: "spec.epoch"},
	})
}

// Defaults are written in, and what an object carries without a schema survives.
func TestFleetDefaults(t *testing.T) {
	cl := connect(t)
	placement := object(t, "FleetPlacement", "defaults", `{`+target+`, clusterSelector: {}, overrides: [{clusterSelector: {}, patch: {spec: {any: thing}}}]}`)
	if err := cl.Create(context.Background(), placement); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec.division.mode": "Divided", "spec.deletionPolicy": "Cascade", "spec.adoption": "IfEqual",
	} {
		if got, _, _ := unstructured.NestedString(placement.Object, strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	overrides, _, _ := unstructured.NestedSlice(placement.Object, "spec", "overrides")
	override, _ := overrides[0].(map[string]any)
	if got, _, _ := unstructured.NestedString(override, "patch", "spec", "any"); got != "thing" || override["type"] != "StrategicMerge" {
		t.Errorf("override became %v", override)
	}
}

func runCases(t *testing.T, kind string, cases map[string]celCase) {
	t.Helper()
	cl := connect(t)
	number := 0
	for name, c := range cases {
		number++
		made := object(t, kind, fmt.Sprintf("case-%d", number), c.spec)
		t.Run(name, func(t *testing.T) {
			err := cl.Create(context.Background(), made)
			if err == nil && c.update != "" {
				made.Object["spec"] = object(t, kind, "", c.update).Object["spec"]
				err = cl.Update(context.Background(), made)
			} else if c.update != "" {
				t.Fatalf("before the update: %v", err)
			}
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want a refusal with %q", err, c.want)
			}
		})
	}
}

// connect returns a client that, like kubectl, has unknown fields refused.
func connect(t *testing.T) client.Client {
	t.Helper()
	cl, err := client.New(testkit.Start(t).Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(cl, "Strict")
}

func object(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	var body map[string]any
	if err := yaml.Unmarshal([]byte(spec), &body); err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	out := &unstructured.Unstructured{Object: map[string]any{"spec": body}}
	out.SetAPIVersion("fleet.kruise.io/v1alpha1")
	out.SetKind(kind)
	out.SetNamespace("default")
	out.SetName(name)
	return out
}
