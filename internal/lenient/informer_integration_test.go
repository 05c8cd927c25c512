// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package lenient

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// set is a CloneSet with a template, as JSON.
func set(name string, template any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1beta1", "kind": "CloneSet", "metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": template},
	}}
}

// TestOneBadObjectBlindsNobody: others of its kind are seen, before and after it comes and while it stays.
func TestOneBadObjectBlindsNobody(t *testing.T) {
	server := testkit.Start(t)
	scheme := runtime.NewScheme()
	if err := appsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(server.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "i"}}}}
	bad := map[string]any{"spec": map[string]any{"containers": "str"}}
	create := func(name string, template any) *unstructured.Unstructured {
		t.Helper()
		obj := set(name, template)
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	create("good-1", good)
	create("bad-1", bad)

	informers, err := Informers(server.Config, scheme)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.New(server.Config, cache.Options{Scheme: scheme, NewInformer: informers})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache does not start")
	}
	sees := func(want ...string) {
		t.Helper()
		var got []string
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 90*time.Second, true, func(ctx context.Context) (bool, error) {
			var list appsv1beta1.CloneSetList
			if err := c.List(ctx, &list); err != nil {
				return false, err
			}
			got = nil
			for i := range list.Items {
				got = append(got, list.Items[i].Name)
			}
			slices.Sort(got)
			return cmp.Equal(want, got), nil
		})
		if err != nil {
			t.Fatalf("the cache has %v, want %v: %v", got, want, err)
		}
	}
	sees("good-1")
	if got := told(t); got != 1 {
		t.Errorf("the metric says %v", got)
	}
	create("good-2", good)
	sees("good-1", "good-2")
	second := create("bad-2", bad)
	create("good-3", good)
	sees("good-1", "good-2", "good-3")
	if err := unstructured.SetNestedField(second.Object, good, "spec", "template"); err != nil {
		t.Fatal(err)
	}
	if err := admin.Update(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	sees("bad-2", "good-1", "good-2", "good-3")
}

// told is what metric flotilla_unreadable_objects says, of all kinds.
func told(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "flotilla_unreadable_objects" {
			for _, metric := range family.GetMetric() {
				sum += metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}
