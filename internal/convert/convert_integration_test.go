// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package convert_test

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// What users have: v1alpha1, flow style, and a field of pods that only a newer Kubernetes knows.
const manifest = `
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata: {name: web, namespace: default, annotations: {apps.kruise.io/image-predownload-parallelism: "3"}}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  updateStrategy: {type: InPlaceIfPossible, partition: 8, maxUnavailable: 20%}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1", fromTheFuture: true}]}
`

// The API server stores v1beta1 and serves both versions through the handler.
func TestAPIServerConverts(t *testing.T) {
	ctx := context.Background()
	cl := served(t)
	old := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &old.Object); err != nil {
		t.Fatal(err)
	}
	if err := cl.Create(ctx, old); err != nil {
		t.Fatal(err)
	}

	stored := get(t, cl, "apps.kruise.io/v1beta1")
	expect(t, stored, "InPlaceIfPossible", "spec", "updateStrategy", "rollingUpdate", "podUpdatePolicy")
	expect(t, stored, int64(8), "spec", "updateStrategy", "rollingUpdate", "partition")
	expect(t, stored, int64(3), "spec", "updateStrategy", "rollingUpdate", "inPlaceUpdateStrategy", "imagePreDownloadParallelism")
	expect(t, stored, true, "spec", "scaleStrategy", "enablePVCReuse")
	containers, _, _ := unstructured.NestedSlice(stored.Object, "spec", "template", "spec", "containers")
	if container, _ := containers[0].(map[string]any); container["fromTheFuture"] != true {
		t.Errorf("an unknown field of a pod was lost: %v", container)
	}

	if err := unstructured.SetNestedField(stored.Object, "InPlaceOnly", "spec", "updateStrategy", "rollingUpdate", "podUpdatePolicy"); err != nil {
		t.Fatal(err)
	}
	if err := cl.Update(ctx, stored); err != nil {
		t.Fatal(err)
	}
	again := get(t, cl, "apps.kruise.io/v1alpha1")
	expect(t, again, "InPlaceOnly", "spec", "updateStrategy", "type")
	expect(t, again, int64(8), "spec", "updateStrategy", "partition")
}

// served starts an API server whose CRDs are converted by the handler.
func served(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	webhook := httptest.NewTLSServer(convert.Handler(scheme))
	t.Cleanup(webhook.Close)
	cl, err := client.New(testkit.Start(t).Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := cl.Get(context.Background(), client.ObjectKey{Name: "clonesets.apps.kruise.io"}, crd); err != nil {
		t.Fatal(err)
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				URL:      ptr.To(webhook.URL + convert.Path),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
		},
	}
	if err := cl.Update(context.Background(), crd); err != nil {
		t.Fatal(err)
	}
	awaitConversion(t, cl)
	return cl
}

// awaitConversion waits until the API server asks the handler: an object without an update type comes
// back with one, which only the way to v1beta1 and back gives it.
func awaitConversion(t *testing.T, cl client.Client) {
	t.Helper()
	probe := func(ctx context.Context) (bool, error) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			return false, err
		}
		object.SetName("probe")
		unstructured.RemoveNestedField(object.Object, "spec", "updateStrategy", "type")
		if err := cl.Create(ctx, object); err != nil {
			return false, nil // the definition is being replaced
		}
		defer func() { _ = cl.Delete(ctx, object) }()
		if err := cl.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, nil // likewise
		}
		_, converted, _ := unstructured.NestedString(object.Object, "spec", "updateStrategy", "type")
		return converted, nil
	}
	if err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 30*time.Second, true, probe); err != nil {
		t.Fatalf("waiting for the conversion webhook: %v", err)
	}
}

func get(t *testing.T, cl client.Client, version string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(version)
	out.SetKind("CloneSet")
	if err := cl.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "web"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func expect(t *testing.T, object *unstructured.Unstructured, want any, path ...string) {
	t.Helper()
	if got, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...); got != want {
		t.Errorf("%v is %v, want %v", path, got, want)
	}
}
