// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// selectors are what the versions call the selector of targets, listed what they call the namespaces of a condition.
var (
	selectors = map[string]string{"v1alpha1": "namespaceLabelSelector", "v1beta1": "namespaceSelector"}
	listed    = map[string]string{"v1alpha1": "failedNamespace", "v1beta1": "failedNamespaces"}
)

// TestDistributions: a spoke with gate and right distributes what is written in either version, and refuses what it
// cannot. Without the gate it refuses everything, without the right it says so.
func TestDistributions(t *testing.T) {
	distribution := func(version, change string) *unstructured.Unstructured {
		text := strings.NewReplacer("%v", version, "%s", selectors[version]).Replace(`{apiVersion: apps.kruise.io/%v, kind: ResourceDistribution, metadata: {name: d-%v}, spec: {
			resource: {apiVersion: v1, kind: Secret, metadata: {name: s-%v, namespace: elsewhere}, type: Opaque, data: {k: dg==}},
			targets: {includedNamespaces: {list: [{name: default}, {name: not-there}]}, excludedNamespaces: {list: []}, %s: {}}}}`)
		if old, with, found := strings.Cut(change, " => "); found {
			text = strings.Replace(text, old, with, 1)
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	t.Run("gate off", func(t *testing.T) {
		admin, _, _ := serve(t, "spoke")
		for version := range selectors {
			if err := admin.Create(t.Context(), distribution(version, "")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ResourceDistributionGate") {
				t.Errorf("%s: %v", version, err)
			}
		}
	})
	switchGates(t, map[string]bool{"ResourceDistributionGate": true})
	admin, cfg, _ := serve(t, "spoke")
	typed, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for version := range selectors {
		for what, change := range map[string]string{
			"a Deployment":           "v1, kind: Secret => apps/v1, kind: Deployment",
			"a bad name":             "{name: not-there} => {name: Not_There}",
			"a name in both lists":   "{list: []} => {list: [{name: default}]}",
			"a Secret that is wrong": "Opaque => kubernetes.io/tls",
			"a bad selector":         selectors[version] + ": {} => " + selectors[version] + ": {matchExpressions: [{key: a, operator: Near}]}",
		} {
			if err := admin.Create(t.Context(), distribution(version, change)); !apierrors.IsInvalid(err) {
				t.Errorf("%s, %s: %v", version, what, err)
			}
		}
		if err := admin.Create(t.Context(), distribution(version, "")); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
	}
	afterAWhile(t, func(ctx context.Context) error {
		return says(ctx, admin, "v1beta1", "d-v1beta1", trouble{"GetResourceFailed", "apply kustomize/distribution", ""})
	})
	applyAll(t, admin, build(t, filepath.Join(testkit.Root(), "kustomize", "distribution")))
	for version := range selectors {
		afterAWhile(t, func(ctx context.Context) error {
			secret := &corev1.Secret{}
			if err := typed.Get(ctx, client.ObjectKey{Namespace: "default", Name: "s-" + version}, secret); err != nil {
				return err
			}
			if string(secret.Data["k"]) != "v" {
				return fmt.Errorf("data %v", secret.Data)
			}
			return nil
		})
		for read := range selectors {
			afterAWhile(t, func(ctx context.Context) error {
				return says(ctx, admin, read, "d-"+version, trouble{"NamespaceNotExists", "not-there", "not-there"})
			})
		}
		live := get(t, admin, "v1beta1", "d-"+version)
		included, _, _ := unstructured.NestedSlice(live.Object, "spec", "targets", "includedNamespaces", "list")
		selector, _, _ := unstructured.NestedMap(live.Object, "spec", "targets", "namespaceSelector")
		if len(included) != 2 || len(selector) != 0 {
			t.Errorf("%s read as v1beta1: included %v, selector %v", version, included, selector)
		}
		live = get(t, admin, version, "d-"+version)
		if err := unstructured.SetNestedField(live.Object, "another", "spec", "resource", "metadata", "name"); err != nil {
			t.Fatal(err)
		}
		if err := admin.Update(t.Context(), live); !apierrors.IsInvalid(err) {
			t.Errorf("%s, renamed: %v", version, err)
		}
	}
}

// trouble is a condition that is True, with words in its reason and, if one is named, a namespace in its list.
type trouble struct{ condition, words, in string }

// says looks for a trouble in the status.
func says(ctx context.Context, c client.Client, version, name string, want trouble) error {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps.kruise.io/" + version, "kind": "ResourceDistribution"}}
	if err := c.Get(ctx, client.ObjectKey{Name: name}, obj); err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if len(conditions) != 6 {
		return fmt.Errorf("conditions %v", conditions)
	}
	for _, entry := range conditions {
		fields := entry.(map[string]any)
		if fields["type"] == want.condition && fields["status"] == "True" && strings.Contains(fmt.Sprint(fields["reason"]), want.words) &&
			(want.in == "" || fmt.Sprint(fields[listed[version]]) == "["+want.in+"]") {
			return nil
		}
	}
	return fmt.Errorf("conditions %v", conditions)
}

func get(t *testing.T, c client.Client, version, name string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps.kruise.io/" + version, "kind": "ResourceDistribution"}}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// afterAWhile waits longer than eventually: rights that come are noticed within half a minute.
func afterAWhile(t *testing.T, is func(context.Context) error) {
	t.Helper()
	var last error
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = is(ctx)
		return last == nil, nil
	}); err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}
