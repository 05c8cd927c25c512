// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// BenchmarkList converts what the API server asks for when 1,000 CloneSets are listed in the other version.
func BenchmarkList(b *testing.B) {
	const set = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"replicas":3,
"selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible","partition":1}},
"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}},"env":[{"name":"A","value":"b"}]}]}}}}`
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			b.Fatal(err)
		}
	}
	request := &apiextensionsv1.ConversionRequest{UID: "u", DesiredAPIVersion: "apps.kruise.io/v1alpha1"}
	for range 1000 {
		request.Objects = append(request.Objects, runtime.RawExtension{Raw: []byte(set)})
	}
	body, err := json.Marshal(apiextensionsv1.ConversionReview{Request: request})
	if err != nil {
		b.Fatal(err)
	}
	handler := Handler(scheme)
	b.ReportAllocs()
	for b.Loop() {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("POST", Path, bytes.NewReader(body)))
		if answer.Code != 200 || !bytes.Contains(answer.Body.Bytes(), []byte(`"status":"Success"`)) {
			b.Fatal(answer.Code)
		}
	}
}
