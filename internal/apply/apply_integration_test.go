// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apply

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

func configMap(data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "default", "name": "c", "labels": map[string]any{"a": "b"}},
		"data":     data,
	}}
}

func TestApplySendsOnlyWhatChanged(t *testing.T) {
	server := testkit.Start(t)
	ctx := context.Background()
	c, err := client.New(server.ConfigFor("apply-test"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := New(c)
	start := time.Now().Add(-time.Second)
	live, err := a.Apply(ctx, configMap(map[string]any{"k": "1"}), nil, "o")
	if err != nil || live == nil {
		t.Fatal(live, err)
	}
	for _, step := range []struct {
		name   string
		change func()
		data   map[string]any
		sent   bool
	}{
		{"equal", func() {}, map[string]any{"k": "1"}, false},
		{"changed", func() {}, map[string]any{"k": "2"}, true},
		{"label drift", func() {
			drifted := live.DeepCopy()
			drifted.SetLabels(map[string]string{"a": "x"})
			if err := c.Update(ctx, drifted); err != nil {
				t.Fatal(err)
			}
			live = drifted
		}, map[string]any{"k": "2"}, true},
		{"equal again", func() {}, map[string]any{"k": "2"}, false},
	} {
		step.change()
		got, err := a.Apply(ctx, configMap(step.data), live, "o")
		if err != nil || (got != nil) != step.sent {
			t.Fatalf("%s: sent %v, want %v (%v)", step.name, got != nil, step.sent, err)
		}
		if got != nil {
			live = got
		}
	}
	if live.GetLabels()["a"] != "b" {
		t.Errorf("the drift stays: %v", live.GetLabels())
	}
	if n := len(server.Writes(t, "apply-test", start)); n != 4 {
		t.Errorf("%d writes, want 4: first, changed, the drift itself, its undoing", n)
	}
}

// deployment is a part of a Deployment: the whole with replicas nil, or its replicas alone.
func deployment(image string, replicas any) *unstructured.Unstructured {
	spec := map[string]any{}
	if replicas != nil {
		spec["replicas"] = replicas
	}
	if image != "" {
		labels := map[string]any{"app": "d"}
		spec["selector"] = map[string]any{"matchLabels": labels}
		spec["template"] = map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "default", "name": "d"}, "spec": spec,
	}}
}

// One owner's write is no reason to send another owner's part again; a stranger's write is.
func TestApplyWithTwoOwners(t *testing.T) {
	server := testkit.Start(t)
	ctx := context.Background()
	c, err := client.New(server.ConfigFor("apply-test"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := New(c)
	var live client.Object
	send := func(part *unstructured.Unstructured, owner string, want bool) {
		t.Helper()
		got, err := a.Apply(ctx, part, live, owner)
		if err != nil || (got != nil) != want {
			t.Fatalf("%s: sent %v, want %v (%v)", owner, got != nil, want, err)
		}
		if got != nil {
			live = got
		}
	}
	send(deployment("a", nil), "template", true)
	send(deployment("", int64(3)), "split", true)
	send(deployment("a", nil), "template", false)
	send(deployment("", int64(4)), "split", true)
	send(deployment("a", nil), "template", false)
	send(deployment("b", nil), "template", true)
	send(deployment("", int64(4)), "split", false)

	stranger := live.DeepCopyObject().(*unstructured.Unstructured)
	_ = unstructured.SetNestedField(stranger.Object, int64(9), "spec", "replicas")
	if err := c.Update(ctx, stranger); err != nil {
		t.Fatal(err)
	}
	live = stranger
	send(deployment("b", nil), "template", true)
	send(deployment("", int64(4)), "split", true)
	send(deployment("b", nil), "template", false)
	if n, _, _ := unstructured.NestedInt64(live.(*unstructured.Unstructured).Object, "spec", "replicas"); n != 4 {
		t.Errorf("replicas = %d after a stranger's write, want 4", n)
	}
}
