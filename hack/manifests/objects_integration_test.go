// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/apis/preserve"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
	spokesetup "github.com/flotilla-sh/flotilla/spoke/setup"
)

// TestObjectsLiveInEveryVersion: an object is the same in whatever version it is stored, read and written, and
// lists and scales as its kind should.
func TestObjectsLiveInEveryVersion(t *testing.T) {
	server := testkit.Start(t, t.TempDir()) // with no CRDs: envtest would take the conversion out of them
	plain, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	raw := kubernetes.NewForConfigOrDie(server.Config).RESTClient()
	for _, crd := range converted(t, plain) {
		t.Run(crd.Name, func(t *testing.T) {
			objects := objectsOf(t, crd.Spec.Names.Plural)
			if len(objects) < 2*len(crd.Spec.Versions) {
				t.Fatalf("there are %d objects", len(objects))
			}
			for _, sent := range objects {
				t.Run(sent.GetName(), func(t *testing.T) { lives(t, c, &crd, sent) })
			}
			for _, version := range crd.Spec.Versions {
				lists(t, raw, &crd, &version, len(objects))
				scales(t, raw, c, &crd, &version)
			}
		})
	}
}

// converted starts a webhook that converts, and installs the CRDs of apps, policy and rollouts with it.
func converted(t *testing.T, c client.Client) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	webhook := httptest.NewTLSServer(convert.Handler(spokesetup.Scheme()))
	t.Cleanup(webhook.Close)
	conversion := &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				URL:      ptr.To(webhook.URL + convert.Path),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
		},
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", "crd-member")) {
		crd := apiextensionsv1.CustomResourceDefinition{}
		fromUnstructured(t, obj.Object, &crd)
		if len(crd.Spec.Versions) > 1 {
			crd.Spec.Conversion = conversion
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&crd)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &unstructured.Unstructured{Object: fields}); err != nil {
			t.Fatal(err)
		}
		out = append(out, crd)
	}
	for i := range out {
		awaitServed(t, c, &out[i])
	}
	return out
}

// awaitServed waits until a kind can be listed in every version.
func awaitServed(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, version := range crd.Spec.Versions {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion(crd.Spec.Group + "/" + version.Name)
			list.SetKind(crd.Spec.Names.ListKind)
			if last = c.List(ctx, list); last != nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("%s is not served: %v", crd.Name, last)
	}
}

// objectsOf reads the objects of a kind as its users write them.
func objectsOf(t *testing.T, plural string) []*unstructured.Unstructured {
	t.Helper()
	return objectsIn(t, filepath.Join("objects", plural))
}

// objectsIn reads the objects of a file under testdata.
func objectsIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(string(data), "\n---\n") {
		object, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(object); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}

// lives stores an object, reads it in every version, and writes it through every version: what was sent is
// always there. The first writes may spell out what went without saying, or say it in the way of each version as
// well; after that nothing changes any more.
func lives(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, sent *unstructured.Unstructured) {
	if err := c.Create(t.Context(), sent.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if status, found := sent.Object["status"]; found {
		live := readIn(t, c, sent, sent.GroupVersionKind().Version)
		live.Object["status"] = status
		if err := c.Status().Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
	first := inAll(t, c, crd, sent)
	report(t, "as it was sent", missing(sent.GetKind(), content(t, sent), first[sent.GroupVersionKind().Version]))
	second := map[string]map[string]any{}
	for _, through := range crd.Spec.Versions {
		write(t, c, sent, through.Name)
		second = inAll(t, c, crd, sent)
		for version := range first {
			report(t, version+" after it was written as "+through.Name, missing(sent.GetKind(), first[version], second[version]))
		}
	}
	for _, through := range crd.Spec.Versions {
		write(t, c, sent, through.Name)
		if diff := cmp.Diff(second, inAll(t, c, crd, sent)); diff != "" {
			t.Errorf("after it was written as %s once more (-before +after):\n%s", through.Name, diff)
		}
	}
}

// inAll is the content of an object in each version.
func inAll(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, sent *unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, version := range crd.Spec.Versions {
		out[version.Name] = content(t, readIn(t, c, sent, version.Name))
	}
	return out
}

// write writes an object and its status as they are in a version, with a label more.
func write(t *testing.T, c client.Client, sent *unstructured.Unstructured, version string) {
	t.Helper()
	live := readIn(t, c, sent, version)
	live.SetLabels(with(live.GetLabels(), writtenAs, version))
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatalf("writing it as %s: %v", version, err)
	}
	if err := c.Status().Update(t.Context(), readIn(t, c, sent, version)); err != nil {
		t.Fatalf("writing its status as %s: %v", version, err)
	}
	if live := readIn(t, c, sent, sent.GroupVersionKind().Version); live.GetLabels()[writtenAs] != version {
		t.Errorf("what was written as %s is not there", version)
	}
}

// writtenAs is a label that says how an object was written last.
const writtenAs = "written-as"

func report(t *testing.T, what string, problems []string) {
	t.Helper()
	for _, problem := range problems {
		t.Errorf("%s: %s", what, problem)
	}
}

func readIn(t *testing.T, c client.Client, sent *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	gvk := sent.GroupVersionKind()
	gvk.Version = version
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gvk)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(sent), out); err != nil {
		t.Fatalf("reading it as %s: %v", version, err)
	}
	return out
}

func with(labels map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range labels {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// content is what must not change: all but what the API server keeps itself, the label of the test, and the
// annotation in which conversion keeps what a version cannot say. It is told twice: as the types say it, who know
// that nothing and zero can be the same; and as it is, without what says nothing, for what no type knows.
func content(t *testing.T, obj *unstructured.Unstructured) map[string]any {
	t.Helper()
	obj = obj.DeepCopy()
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	delete(labels, writtenAs)
	delete(annotations, preserve.Annotation)
	out := map[string]any{"labels": mapOf(labels), "annotations": mapOf(annotations)}
	object, err := spokesetup.Scheme().New(obj.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	fromUnstructured(t, obj.Object, object)
	typed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"spec", "status"} {
		said, _ := saying(obj.Object[name])
		for key, fields := range map[string]any{name: said, "typed " + name: typed[name]} {
			if out[key] = fields; fields == nil {
				out[key] = map[string]any{}
			}
		}
	}
	return out
}

// saying is a value without the parts that say nothing, and whether it says anything.
func saying(value any) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, field := range v {
			if said, says := saying(field); says {
				out[key] = said
			}
		}
		return out, len(out) > 0
	case []any:
		var out []any
		for _, element := range v {
			said, _ := saying(element)
			out = append(out, said)
		}
		return out, len(out) > 0
	default:
		return v, v != nil && !reflect.ValueOf(v).IsZero()
	}
}

func mapOf(in map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		out[k] = v
	}
	return out
}

// moved is what an object says in another way once it was stored.
var moved = map[string]string{
	"SidecarSet.spec.namespace":       "becomes a namespaceSelector",
	"SidecarSet.typed spec.namespace": "likewise",
}

// missing says what of one value is not in another; more may be there.
func missing(path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		var out []string
		for key, value := range w {
			if moved[path+"."+key] != "" {
				continue
			}
			if _, found := g[key]; !found && value != nil {
				out = append(out, path+"."+key+" is not there")
				continue
			}
			out = append(out, missing(path+"."+key, value, g[key])...)
		}
		return out
	case []any:
		g, _ := got.([]any)
		if len(w) != len(g) {
			return []string{path + " has another length"}
		}
		var out []string
		for i := range w {
			out = append(out, missing(path+"[]", w[i], g[i])...)
		}
		return out
	default:
		if !reflect.DeepEqual(want, got) {
			return []string{cmp.Diff(want, got) + " at " + path}
		}
		return nil
	}
}

func pathOf(crd *apiextensionsv1.CustomResourceDefinition, version string, more ...string) string {
	path := "/apis/" + crd.Spec.Group + "/" + version
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		path += "/namespaces/default"
	}
	return strings.Join(append([]string{path, crd.Spec.Names.Plural}, more...), "/")
}

// lists wants the columns that kubectl get shows, each with something in it for some object.
func lists(t *testing.T, c rest.Interface, crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, rows int) {
	t.Helper()
	data, err := c.Get().AbsPath(pathOf(crd, version.Name)).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	table := metav1.Table{}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	want := []string{"Name"}
	for _, column := range version.AdditionalPrinterColumns {
		want = append(want, column.Name)
	}
	if len(want) == 1 {
		want = append(want, "Age") // where a kind has no columns of its own
	}
	var got []string
	for i, column := range table.ColumnDefinitions {
		got = append(got, column.Name)
		empty := true
		for _, row := range table.Rows {
			empty = empty && (row.Cells[i] == nil || row.Cells[i] == "")
		}
		if empty && column.Name != "Adaptive" { // as OpenKruise defines it, it never shows anything
			t.Errorf("column %s of %s shows nothing", column.Name, version.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(table.Rows) != rows {
		t.Errorf("columns of %s (-want +got):\n%s%d rows, want %d", version.Name, diff, len(table.Rows), rows)
	}
}

// scales wants what old clients do: they write a scale without a resourceVersion.
func scales(t *testing.T, raw rest.Interface, c client.Client, crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) {
	t.Helper()
	if version.Subresources == nil || version.Subresources.Scale == nil {
		return
	}
	name := "full-" + version.Name
	path := pathOf(crd, version.Name, name, "scale")
	body := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"` + name + `","namespace":"default"},"spec":{"replicas":7}}`
	data, err := raw.Put().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(t.Context())
	if err != nil {
		t.Errorf("scaling as %s: %v: %s", version.Name, err, data)
		return
	}
	if data, err = raw.Get().AbsPath(path).DoRaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	scale := struct {
		Spec   struct{ Replicas int }
		Status struct {
			Replicas int
			Selector string
		}
	}{}
	if err := json.Unmarshal(data, &scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 7 || scale.Status.Replicas == 0 || !strings.HasPrefix(scale.Status.Selector, "app=sample") {
		t.Errorf("scale of %s is %s", version.Name, data)
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(crd.Spec.Group + "/" + version.Name)
	object.SetKind(crd.Spec.Names.Kind)
	object.SetNamespace("default")
	object.SetName(name)
	for _, other := range crd.Spec.Versions {
		if got, _, _ := unstructured.NestedInt64(readIn(t, c, object, other.Name).Object, "spec", "replicas"); got != 7 {
			t.Errorf("after scaling as %s, %s says %d replicas", version.Name, other.Name, got)
		}
	}
}
