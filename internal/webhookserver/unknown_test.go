// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// validate sends a CloneSet with a spec, and one that is stored if not empty, to a webhook that refuses replicas 13.
func validate(t testing.TB, stored, sent string) admission.Response {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hook := Validating(scheme, func(_ context.Context, _, obj *appsv1beta1.CloneSet) (admission.Warnings, field.ErrorList, error) {
		if obj.Spec.Replicas != nil && *obj.Spec.Replicas == 13 {
			return admission.Warnings{"unlucky"}, field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), 13, "no")}, nil
		}
		return nil, nil, nil
	})
	return hook.Handle(t.Context(), asked(t, stored, sent))
}

func asked(t testing.TB, stored, sent string) admission.Request {
	t.Helper()
	raw := func(spec string) []byte {
		out, err := yaml.YAMLToJSON([]byte("{apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, metadata: {name: a, namespace: b}, " + spec + "}"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: metav1.GroupVersionKind(appsv1beta1.SchemeGroupVersion.WithKind("CloneSet"))}}
	req.Object.Raw = raw(sent)
	if stored != "" {
		req.Operation, req.OldObject.Raw = admissionv1.Update, raw(stored)
	}
	return req
}

func TestUnknownFieldsAreWarnedOf(t *testing.T) {
	const misspelt = "spec: {template: {spec: {containres: [], containers: [{name: c, Image: i, probes: {a: b}}]}}}"
	three := []string{
		`unknown field "spec.template.spec.containers[0].Image"`, `unknown field "spec.template.spec.containers[0].probes"`,
		`unknown field "spec.template.spec.containres"`,
	}
	many := strings.Builder{}
	for i := range 25 {
		fmt.Fprintf(&many, "x%02d: 1, ", i)
	}
	for name, c := range map[string]struct {
		stored, sent string
		want         []string
		refused      bool
	}{
		"sound":               {"", "spec: {replicas: 3, template: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}}", nil, false},
		"new":                 {"", misspelt, three, false},
		"spec changed":        {"spec: {replicas: 2}", misspelt, three, false},
		"spec is as it was":   {misspelt, misspelt + ", status: {replicas: 2}", nil, false},
		"not of the spec":     {"", "spec: {}, status: {foo: 1}, bar: 2", nil, false},
		"refused and warned":  {"", "spec: {replicas: 13, template: {spec: {foo: 1}}}", []string{`unknown field "spec.template.spec.foo"`, "unlucky"}, true},
		"keys of free choice": {"", "spec: {template: {metadata: {annotations: {foo: bar}}, spec: {nodeSelector: {foo: bar}}}}", nil, false},
		"very many": {"", "spec: {" + many.String() + "}", []string{
			`unknown field "spec.x00"`, `unknown field "spec.x01"`, `unknown field "spec.x02"`, `unknown field "spec.x03"`, `unknown field "spec.x04"`,
			`unknown field "spec.x05"`, `unknown field "spec.x06"`, `unknown field "spec.x07"`, `unknown field "spec.x08"`, `unknown field "spec.x09"`,
			"and 15 more unknown fields",
		}, false},
		"very long": {"", "spec: {" + strings.Repeat("é", 400) + ": 1}", []string{`unknown field "…` + strings.Repeat("é", 100) + `"`}, false},
	} {
		response := validate(t, c.stored, c.sent)
		if response.Allowed == c.refused {
			t.Errorf("%s: %+v", name, response)
		}
		if diff := cmp.Diff(c.want, response.Warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// large is a CloneSet with 30 containers of 100 environment variables each, about 300 KB.
func large(t testing.TB) string {
	t.Helper()
	container := corev1.Container{Image: "registry.example.com/team/app:v1"}
	for i := range 100 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SOME_VARIABLE_%d", i), Value: strings.Repeat("v", 60)})
	}
	template := corev1.PodTemplateSpec{}
	for i := range 30 {
		container.Name = fmt.Sprintf("c%d", i)
		template.Spec.Containers = append(template.Spec.Containers, container)
	}
	raw, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	return "spec: {template: " + string(raw) + "}"
}

func BenchmarkUnknownFields(b *testing.B) {
	req := asked(b, "spec: {replicas: 1}", large(b))
	ctx := admission.NewContextWithRequest(b.Context(), req)
	b.SetBytes(int64(len(req.Object.Raw)))
	b.ReportAllocs()
	for b.Loop() {
		if got := unknownFields(ctx, &appsv1beta1.CloneSet{}); got != nil {
			b.Fatal(got)
		}
	}
}
