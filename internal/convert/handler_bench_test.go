// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// listOf is what the API server asks for when so many CloneSets are listed in the other version.
func listOf(t testing.TB, count int) (*runtime.Scheme, []byte) {
	t.Helper()
	const set = `{"apiVersion":"apps.kruise.io/v1beta1","kind":"CloneSet","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"replicas":3,
"selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"podUpdatePolicy":"InPlaceIfPossible","partition":1}},
"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}},"env":[{"name":"A","value":"b"}]}]}}}}`
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1alpha1.AddToScheme, appsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	request := &apiextensionsv1.ConversionRequest{UID: "u", DesiredAPIVersion: "apps.kruise.io/v1alpha1"}
	for range count {
		request.Objects = append(request.Objects, runtime.RawExtension{Raw: []byte(set)})
	}
	body, err := json.Marshal(apiextensionsv1.ConversionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	return scheme, body
}

func converts(t testing.TB, handler http.Handler, body []byte) {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("POST", Path, bytes.NewReader(body)))
	if answer.Code != 200 || !bytes.Contains(answer.Body.Bytes(), []byte(`"status":"Success"`)) {
		t.Fatal(answer.Code)
	}
}

// BenchmarkList converts a list of 1,000 CloneSets.
func BenchmarkList(b *testing.B) {
	scheme, body := listOf(b, 1000)
	handler := Handler(scheme)
	b.ReportAllocs()
	for b.Loop() {
		converts(b, handler, body)
	}
}

// TestMemoryIsFlat: however many lists were converted, nothing of them stays.
func TestMemoryIsFlat(t *testing.T) {
	scheme, body := listOf(t, 1000)
	handler := Handler(scheme)
	heap := func(lists int) uint64 {
		for range lists {
			converts(t, handler, body)
		}
		goruntime.GC()
		var stats goruntime.MemStats
		goruntime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	const most = 4 << 20 // less than one list takes
	before := heap(2)
	if after := heap(10); after > before+most {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
