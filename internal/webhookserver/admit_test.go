// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// An object that is being deleted is left as it is.
func TestDefaultingLeavesTheDeletedAlone(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hook := Defaulting(scheme, func(_, obj *corev1.ConfigMap) { obj.Data = map[string]string{"filled": "3"} })
	response := hook.Handle(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, Kind: metav1.GroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}),
		Object: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}`)},
	}})
	if !response.Allowed || len(response.Patches) != 0 {
		t.Errorf("answer %+v", response)
	}
}

// The stored object is given as it is stored: nothing of the new one is mixed in.
func TestDefaultingGivesTheStoredObject(t *testing.T) {
	const (
		stored = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"old":"1"}}`
		sent   = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"b":"c"}},"data":{"new":"2"}}`
	)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old  string
		want map[string]string // nil: no stored object
	}{
		"create": {},
		"update": {old: stored, want: map[string]string{"old": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got *corev1.ConfigMap
			hook := Defaulting(scheme, func(old, obj *corev1.ConfigMap) {
				got = old
				obj.Data["filled"] = "3"
			})
			response := hook.Handle(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, Kind: metav1.GroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}),
				Object: runtime.RawExtension{Raw: []byte(sent)}, OldObject: runtime.RawExtension{Raw: []byte(c.old)},
			}})
			if !response.Allowed || len(response.Patches) != 1 || response.Patches[0].Path != "/data/filled" {
				t.Errorf("answer %+v", response)
			}
			if (got == nil) != (c.want == nil) {
				t.Fatalf("stored object %v", got)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(c.want, got.Data); diff != "" || got.Labels != nil {
				t.Errorf("stored object (-want +got):\n%s labels %v", diff, got.Labels)
			}
		})
	}
}
