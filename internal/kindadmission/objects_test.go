// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/convert"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// there is what the objects below need to be let in.
func there() []runtime.Object {
	revisions := map[string]string{appsv1beta1.SidecarSetCustomVersionLabel: "version-1"}
	var out []runtime.Object
	for _, set := range []string{"full-v1alpha1", "full-v1beta1"} {
		labels := map[string]string{appsv1beta1.SidecarSetNameLabel: set}
		for key, value := range revisions {
			labels[key] = value
		}
		out = append(out, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: set, Labels: labels}})
	}
	return append(out,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: appsv1beta1.ConfigurationName},
			Data:       map[string]string{appsv1beta1.SidecarSetPatchPodMetadataWhiteListKey: `{"rules":[{"allowedAnnotationKeyExprs":["key1"]}]}`},
		},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "pod-1", Namespace: "default", UID: "u"},
			Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "app"}, {Name: "sidecar"}}},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", ContainerID: "x://1"}, {Name: "sidecar", ContainerID: "x://2"}}},
		})
}

// TestUsersObjectsAreLetIn: what users of OpenKruise write is filled in once, keeps what no type knows, and is
// valid.
func TestUsersObjectsAreLetIn(t *testing.T) {
	for _, component := range components {
		t.Run(component, func(t *testing.T) { usersObjects(t, component) })
	}
}

func usersObjects(t *testing.T, component string) {
	t.Helper()
	files, err := filepath.Glob("../../hack/manifests/testdata/objects/*.yaml")
	if err != nil || len(files) < 23 {
		t.Fatalf("found %v, %v", files, err)
	}
	served, all := hooks(component, there()...), entries(t, component)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plural := strings.TrimSuffix(filepath.Base(file), ".yaml")
		for _, document := range strings.Split(string(data), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatal(err)
			}
			if object.GetKind() == "ContainerRecreateRequest" && strings.HasPrefix(object.GetName(), "full") {
				continue // it carries what admission writes, and admission refuses to be told that
			}
			t.Run(plural+"/"+object.GetName(), func(t *testing.T) {
				raw := object
				for _, mutating := range []bool{true, false} {
					for _, e := range all {
						if e.Mutating == mutating && asks(&e, object.GroupVersionKind().Group, object.GroupVersionKind().Version, plural) {
							raw = pass(t, served[e.Path], &e, raw)
						}
					}
				}
				if before, after := strings.Count(text(t, object), "fromTheFuture"), strings.Count(text(t, raw), "fromTheFuture"); before != after {
					t.Errorf("%d fields that no type knows, %d are left:\n%s", before, after, text(t, raw))
				}
			})
		}
	}
}

func text(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	raw, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// pass sends an object through a webhook, in the version that it is asked about, and returns what comes of it.
func pass(t *testing.T, hook *admission.Webhook, e *testkit.Webhook, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	raw := []byte(text(t, object))
	gvk := object.GroupVersionKind()
	if !slices.Contains(e.Rules[0].APIVersions, gvk.Version) {
		gvk.Version = e.Rules[0].APIVersions[0]
		var err error
		if raw, err = convert.Object(scheme, raw, gvk.GroupVersion().String()); err != nil {
			t.Fatal(err)
		}
	}
	response := hook.Handle(t.Context(), request("", string(raw)))
	if !response.Allowed {
		t.Errorf("%s: %s", e.Name, response.Result.Message)
		return object
	}
	patch, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Patches) > 0 {
		decoded, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = decoded.Apply(raw); err != nil {
			t.Fatal(err)
		}
		if again := hook.Handle(t.Context(), request(string(raw), string(raw))); !again.Allowed || len(again.Patches) > 0 {
			t.Errorf("%s fills in what it filled in: %+v", e.Name, again)
		}
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return out
}
