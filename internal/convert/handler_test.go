// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// review sends one object to the handler and returns the answer.
func review(t *testing.T, object, version string) *apiextensionsv1.ConversionResponse {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	body, err := json.Marshal(apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: "u", DesiredAPIVersion: version, Objects: []runtime.RawExtension{{Raw: []byte(object)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	Handler(scheme).ServeHTTP(answer, httptest.NewRequest("POST", Path, bytes.NewReader(body)))
	got := apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got.Response
}

func TestHandlerConvertsBothWays(t *testing.T) {
	cases := map[string]struct {
		object, version string
		path            []string
		want            string
	}{
		"up": {
			object:  `{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"updateStrategy":{"type":"InPlaceOnly"}}}`,
			version: "apps.kruise.io/v1beta1",
			path:    []string{"spec", "updateStrategy", "rollingUpdate", "podUpdatePolicy"}, want: "InPlaceOnly",
		},
		"down": {
			object:  `{"apiVersion":"apps.kruise.io/v1beta1","kind":"UnitedDeployment","metadata":{"name":"a"},"status":{"updatedRevision":"r"}}`,
			version: "apps.kruise.io/v1alpha1",
			path:    []string{"status", "updateStatus", "updatedRevision"}, want: "r",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			response := review(t, c.object, c.version)
			if response.Result.Status != "Success" || len(response.ConvertedObjects) != 1 {
				t.Fatalf("answer %+v", response.Result)
			}
			got := unstructured.Unstructured{}
			if err := json.Unmarshal(response.ConvertedObjects[0].Raw, &got.Object); err != nil {
				t.Fatal(err)
			}
			if value, _, _ := unstructured.NestedString(got.Object, c.path...); value != c.want {
				t.Errorf("%v is %q, want %q", c.path, value, c.want)
			}
			if got.GetAPIVersion() != c.version || got.GetName() != "a" {
				t.Errorf("converted to %s %q", got.GetAPIVersion(), got.GetName())
			}
		})
	}
}

// Pod templates come out as they went in: with what this program does not know, and without what it
// would add.
func TestTemplatesAreHandedOn(t *testing.T) {
	const template = `{"metadata":{"labels":{"a":"b"},"future":1},"spec":{"containers":[{"name":"c","image":"i","future":{"deep":[9007199254740993]}}]}}`
	cases := map[string]struct {
		object, version string
		path            []string
	}{
		"CloneSet up": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"template":` + template + `}}`,
			"apps.kruise.io/v1beta1", []string{"spec", "template"},
		},
		"CloneSet down": {
			`{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"template":` + template + `}}`,
			"apps.kruise.io/v1alpha1", []string{"spec", "template"},
		},
		"UnitedDeployment": {
			`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"UnitedDeployment","metadata":{"name":"a"},"spec":{"template":{"cloneSetTemplate":{"spec":{"template":` + template + `}}}}}`,
			"apps.kruise.io/v1beta1", []string{"spec", "template", "cloneSetTemplate", "spec", "template"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			response := review(t, c.object, c.version)
			if response.Result.Status != "Success" {
				t.Fatalf("answer %+v", response.Result)
			}
			var got, want map[string]any
			if err := utiljson.Unmarshal(response.ConvertedObjects[0].Raw, &got); err != nil {
				t.Fatal(err)
			}
			if err := utiljson.Unmarshal([]byte(template), &want); err != nil {
				t.Fatal(err)
			}
			handed, _, _ := unstructured.NestedMap(got, c.path...)
			if diff := cmp.Diff(want, handed); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			if _, set, _ := unstructured.NestedFieldNoCopy(got, "spec", "volumeClaimTemplates"); set {
				t.Error("claim templates were added")
			}
		})
	}
}

func TestHandlerRefusesWhatIsNoReview(t *testing.T) {
	for _, body := range []string{`{}`, `no JSON`} {
		answer := httptest.NewRecorder()
		Handler(runtime.NewScheme()).ServeHTTP(answer, httptest.NewRequest("POST", Path, strings.NewReader(body)))
		if answer.Code != 400 {
			t.Errorf("%s: answer %d", body, answer.Code)
		}
	}
}

func TestHandlerNamesWhatItCannotConvert(t *testing.T) {
	response := review(t, `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a"}}`, "apps.kruise.io/v9")
	if response.Result.Status != "Failure" || !strings.Contains(response.Result.Message, "v9") {
		t.Errorf("answer %+v", response.Result)
	}
}

func TestObjectTakesAPanicForAnError(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	err := scheme.AddConversionFunc((*appsv1alpha1.CloneSet)(nil), (*appsv1beta1.CloneSet)(nil), func(any, any, conversion.Scope) error { panic("at the disco") })
	if err != nil {
		t.Fatal(err)
	}
	_, err = Object(scheme, []byte(`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet"}`), "apps.kruise.io/v1beta1")
	if err == nil || !strings.Contains(err.Error(), "panic: at the disco") {
		t.Errorf("got %v", err)
	}
}

// TestObjectReadsAroundWhatHasNoSchema: one bad template, stored while no webhook looked, must not keep the objects
// beside it from being listed.
func TestObjectReadsAroundWhatHasNoSchema(t *testing.T) {
	for name, template := range map[string]string{
		"a word":         `"str"`,
		"wrong inside":   `{"spec":{"containers":"str"}}`,
		"a bad time":     `{"metadata":{"creationTimestamp":"yesterday"}}`,
		"a bad quantity": `{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"lots"}}}]}}`,
	} {
		object := `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a"},"spec":{"replicas":3,"template":` + template +
			`,"updateStrategy":{"rollingUpdate":{"podUpdatePolicy":"InPlaceOnly"}}}}`
		got := review(t, object, "apps.kruise.io/v1alpha1")
		if got.Result.Status != "Success" {
			t.Errorf("%s: %s", name, got.Result.Message)
			continue
		}
		converted := struct {
			Spec struct {
				Template       json.RawMessage
				UpdateStrategy struct{ Type string }
			}
		}{}
		if err := json.Unmarshal(got.ConvertedObjects[0].Raw, &converted); err != nil {
			t.Fatal(err)
		}
		if string(converted.Spec.Template) != template || converted.Spec.UpdateStrategy.Type != "InPlaceOnly" {
			t.Errorf("%s: got %s", name, got.ConvertedObjects[0].Raw)
		}
	}
}
