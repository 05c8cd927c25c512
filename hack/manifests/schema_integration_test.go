// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// bounds are what the schemas say of numbers, where the webhooks refuse the same in every version: a value that
// is taken and one that is not.
var bounds = []struct {
	plural, versions, field string
	taken, refused          any
}{
	{"clonesets", "v1alpha1 v1beta1", "spec.replicas", int64(0), int64(-1)},
	{"statefulsets", "v1alpha1 v1beta1", "spec.replicas", int64(0), int64(-1)},
	{"statefulsets", "v1alpha1 v1beta1", "spec.updateStrategy.rollingUpdate.partition", int64(0), int64(-1)},
	{"statefulsets", "v1alpha1 v1beta1", "spec.updateStrategy.rollingUpdate.minReadySeconds", int64(300), int64(301)},
	{"statefulsets", "v1alpha1 v1beta1", "spec.updateStrategy.rollingUpdate.minReadySeconds", int64(0), int64(-1)},
	{"statefulsets", "v1beta1", "spec.ordinals.start", int64(0), int64(-1)},
	{"uniteddeployments", "v1alpha1 v1beta1", "spec.replicas", int64(0), int64(-1)},
	{"daemonsets", "v1alpha1 v1beta1", "spec.minReadySeconds", int64(0), int64(-1)},
	{"daemonsets", "v1alpha1 v1beta1", "spec.revisionHistoryLimit", int64(0), int64(-1)},
	{"advancedcronjobs", "v1alpha1 v1beta1", "spec.startingDeadlineSeconds", int64(0), int64(-1)},
	{"advancedcronjobs", "v1alpha1 v1beta1", "spec.successfulJobsHistoryLimit", int64(0), int64(-1)},
	{"advancedcronjobs", "v1alpha1 v1beta1", "spec.failedJobsHistoryLimit", int64(0), int64(-1)},
	{"workloadspreads", "v1alpha1 v1beta1", "spec.scheduleStrategy.adaptive.rescheduleCriticalSeconds", int64(0), int64(-1)},
	{"rollouts", "v1alpha1 v1beta1", "spec.strategy.canary.steps[0].pause.duration", int64(0), int64(-1)},
	{"rollouts", "v1alpha1 v1beta1", "spec.strategy.canary.trafficRoutings[0].gracePeriodSeconds", int64(0), int64(-1)},
	{"configmapsets", "v1alpha1", "spec.data", map[string]any{"k": "v"}, map[string]any{}},
	{"configmapsets", "v1alpha1", "spec.containers", []any{map[string]any{"name": "c", "mountPath": "/m"}}, []any{}},
	{"configmapsets", "v1alpha1", "spec.effectPolicy.type", "hotupdate", "Hot"},
}

// fixed are fields that cannot be changed: another value that says the same, if there is one, and one that does not.
var fixed = []struct {
	plural, versions, field string
	same, another           any
}{
	{"clonesets", "v1alpha1 v1beta1", "spec.selector.matchExpressions", []any{}, nil},
	{"clonesets", "v1alpha1 v1beta1", "spec.selector.matchLabels", nil, map[string]any{"b": "c"}},
	{"statefulsets", "v1alpha1 v1beta1", "spec.selector.matchLabels", nil, map[string]any{"b": "c"}},
	{"statefulsets", "v1alpha1 v1beta1", "spec.serviceName", nil, "another"},
	{"statefulsets", "v1alpha1 v1beta1", "spec.podManagementPolicy", nil, "OrderedReady"},
	{"daemonsets", "v1alpha1 v1beta1", "spec.selector.matchLabels", nil, map[string]any{"b": "c"}},
	{"containerrecreaterequests", "v1alpha1 v1beta1", "spec.podName", nil, "another"},
	{"podprobemarkers", "v1alpha1", "spec.selector.matchLabels", nil, map[string]any{"b": "c"}},
	{"configmapsets", "v1alpha1", "spec.selector.matchLabels", nil, map[string]any{"b": "c"}},
	{"workloadspreads", "v1alpha1 v1beta1", "spec.targetRef.name", nil, "another"},
	{"persistentpodstates", "v1alpha1 v1beta1", "spec.targetRef.kind", nil, "Deployment"},
	{"workloadspreads", "v1alpha1 v1beta1", "spec.targetRef.apiVersion", "apps.kruise.io/v9", nil},
}

// TestSchemasSayWhatWebhooksSay: with no webhook, the API server refuses what the schemas can say, and takes the
// value next to it.
func TestSchemasSayWhatWebhooksSay(t *testing.T) {
	admin, err := client.New(testkit.Start(t).Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dry := client.NewDryRunClient(admin)
	for _, b := range bounds {
		for version := range strings.FieldsSeq(b.versions) {
			object := soundOf(t, b.plural, version)
			set(t, object.Object, b.field, b.taken)
			if err := dry.Create(t.Context(), object.DeepCopy()); err != nil {
				t.Errorf("%s %s: %s: %v: %v", b.plural, version, b.field, b.taken, err)
			}
			set(t, object.Object, b.field, b.refused)
			refusedFor(t, dry.Create(t.Context(), object), b.plural+" "+version, b.field)
		}
	}
	for _, f := range fixed {
		for version := range strings.FieldsSeq(f.versions) {
			stored := soundOf(t, f.plural, version)
			if err := admin.Create(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			if f.same != nil {
				if err := dry.Update(t.Context(), changed(t, stored, f.field, f.same)); err != nil {
					t.Errorf("%s %s: %s: %v: %v", f.plural, version, f.field, f.same, err)
				}
			}
			if f.another != nil {
				at, _, _ := strings.Cut(f.field, ".matchLabels")
				refusedFor(t, dry.Update(t.Context(), changed(t, stored, f.field, f.another)), f.plural+" "+version, strings.TrimSuffix(strings.TrimSuffix(at, ".kind"), "targetRef.name"))
			}
			if err := dry.Update(t.Context(), changed(t, stored, "metadata.labels.some", "thing")); err != nil {
				t.Errorf("%s %s: %v", f.plural, version, err)
			}
			if err := admin.Delete(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func changed(t *testing.T, stored *unstructured.Unstructured, field string, value any) *unstructured.Unstructured {
	t.Helper()
	out := stored.DeepCopy()
	set(t, out.Object, field, value)
	return out
}

func refusedFor(t *testing.T, err error, what, field string) {
	t.Helper()
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
		t.Errorf("%s: %s: %v", what, field, err)
	}
}

// TestStoredMistakesStay: who stored a value that is refused by now changes all else.
func TestStoredMistakesStay(t *testing.T) {
	server := testkit.Start(t)
	admin, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := soundOf(t, "daemonsets", "v1beta1")
	set(t, object.Object, "spec.minReadySeconds", int64(-1))
	unbounded(t, admin, object)
	for _, c := range []struct {
		field string
		value any
		ok    bool
	}{{"spec.revisionHistoryLimit", int64(7), true}, {"spec.minReadySeconds", int64(-2), false}, {"spec.minReadySeconds", int64(2), true}} {
		err := client.NewDryRunClient(admin).Update(t.Context(), changed(t, object, c.field, c.value))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v: %v", c.field, c.value, err)
		}
	}
}

// unbounded stores an object whose minReadySeconds are refused, while they are not.
func unbounded(t *testing.T, admin client.Client, object *unstructured.Unstructured) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "daemonsets.apps.kruise.io"}, crd); err != nil {
		t.Fatal(err)
	}
	bound := crd.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		unstructured.RemoveNestedField(version.(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "minReadySeconds", "minimum")
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	until := func(done func() bool) {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return done(), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	until(func() bool { return admin.Create(t.Context(), object) == nil })
	bound.SetResourceVersion(crd.GetResourceVersion())
	if err := admin.Update(t.Context(), bound); err != nil {
		t.Fatal(err)
	}
	until(func() bool {
		another := changed(t, object, "metadata.name", "another")
		another.SetResourceVersion("")
		return apierrors.IsInvalid(client.NewDryRunClient(admin).Create(t.Context(), another))
	})
}
