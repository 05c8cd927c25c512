// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// others are objects that are let in alone, and not beside an object that is the same but for its name.
var others = map[string]struct{ path, object, want string }{
	"SidecarSet": {
		"/validate-apps-kruise-io-sidecarset",
		"{apiVersion: apps.kruise.io/v1beta1, kind: SidecarSet, metadata: {name: b}, spec: {selector: {matchLabels: {a: b}}, containers: [{name: c, image: i}]}}",
		"already exist in a",
	},
	"PodUnavailableBudget": {
		"/validate-policy-kruise-io-podunavailablebudget",
		"{apiVersion: policy.kruise.io/v1beta1, kind: PodUnavailableBudget, metadata: {name: b, namespace: default}, spec: {selector: {matchLabels: {a: b}}, maxUnavailable: 1}}",
		"PodUnavailableBudget a",
	},
	"WorkloadSpread": {
		"/validate-apps-kruise-io-workloadspread",
		"{apiVersion: apps.kruise.io/v1beta1, kind: WorkloadSpread, metadata: {name: b, namespace: default}, spec: {targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: w}, subsets: [{name: s}]}}",
		"WorkloadSpread a",
	},
	"PersistentPodState": {
		"/validate-apps-kruise-io-persistentpodstate",
		"{apiVersion: apps.kruise.io/v1beta1, kind: PersistentPodState, metadata: {name: b, namespace: default}, spec: {targetRef: {apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: w}, requiredPersistentTopology: {keys: [k]}}}",
		"PersistentPodState a",
	},
	"Rollout": {
		"/validate-rollouts-kruise-io-rollout",
		"{apiVersion: rollouts.kruise.io/v1beta1, kind: Rollout, metadata: {name: b, namespace: default}, spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: w}, strategy: {canary: {steps: [{replicas: 1}]}}}}",
		"Rollout a",
	},
	"ConfigMapSet": {
		"/validate-apps-kruise-io-v1alpha1-configmapset",
		"{apiVersion: apps.kruise.io/v1alpha1, kind: ConfigMapSet, metadata: {name: b, namespace: default}, spec: {selector: {matchLabels: {a: b}}, data: {k: v}, containers: [{name: c, mountPath: /m}]}}",
		"ConfigMapSet a",
	},
}

// TestAdmissionSeesWhatElseThereIs: rules that compare an object with others are given the others.
func TestAdmissionSeesWhatElseThereIs(t *testing.T) {
	for _, component := range components {
		besideOthers(t, component)
	}
}

func besideOthers(t *testing.T, component string) {
	t.Helper()
	for name, c := range others {
		other := &unstructured.Unstructured{}
		read(t, []byte(c.object), &other.Object)
		other.SetName("a")
		if response := ask(t, hooks(component)[c.path], "", c.object); !response.Allowed {
			t.Errorf("%s alone is refused: %v", name, response.Result.Message)
		}
		response := ask(t, hooks(component, typed(t, other))[c.path], "", c.object)
		if response.Allowed || !strings.Contains(response.Result.Message, c.want) {
			t.Errorf("%s: %+v, want %s", name, response.Result, c.want)
		}
	}
}

func typed(t *testing.T, object *unstructured.Unstructured) runtime.Object {
	t.Helper()
	out, err := scheme.New(object.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSidecarSetsGoByConfiguration: revisions and the administrator's list are looked up where they are named.
func TestSidecarSetsGoByConfiguration(t *testing.T) {
	const head = "{apiVersion: apps.kruise.io/v1alpha1, kind: SidecarSet, metadata: {name: b}, spec: {selector: {matchLabels: {a: c}}, containers: [{name: c, image: i}], "
	patched := head + "patchPodMetadata: [{annotations: {k: v}, patchPolicy: Retain}]}}"
	pinned := head + "injectionStrategy: {revision: {customVersion: one}}}}"
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: appsv1beta1.ConfigurationName},
		Data:       map[string]string{appsv1beta1.SidecarSetPatchPodMetadataWhiteListKey: `{"rules":[{"allowedAnnotationKeyExprs":["^k$"]}]}`},
	}
	broken := config.DeepCopy()
	broken.Data[appsv1beta1.SidecarSetPatchPodMetadataWhiteListKey] = "{"
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "flotilla-system", Name: "r", Labels: map[string]string{
		appsv1beta1.SidecarSetNameLabel: "b", appsv1beta1.SidecarSetCustomVersionLabel: "one",
	}}}
	for name, c := range map[string]struct {
		object string
		there  []runtime.Object
		want   string // empty: let in
	}{
		"no list":      {patched, nil, "whitelist not found"},
		"allowed":      {patched, []runtime.Object{config}, ""},
		"broken list":  {patched, []runtime.Object{broken}, "ConfigMap flotilla-system/kruise-configuration"},
		"no revision":  {pinned, nil, "spec.injectionStrategy.revision.customVersion"},
		"its revision": {pinned, []runtime.Object{revision}, ""},
	} {
		response := ask(t, hooks("spoke", c.there...)["/validate-apps-kruise-io-v1alpha1-sidecarset"], "", c.object)
		if response.Allowed != (c.want == "") || !strings.Contains(response.Result.Message, c.want) {
			t.Errorf("%s: %+v, want %q", name, response.Result, c.want)
		}
	}
}

// TestSidecarSetsAreHashed whatever version they are sent in, and alike.
func TestSidecarSetsAreHashed(t *testing.T) {
	seen := map[string]bool{}
	for version, path := range map[string]string{"v1beta1": "/mutate-apps-kruise-io-sidecarset", "v1alpha1": "/mutate-apps-kruise-io-v1alpha1-sidecarset"} {
		response := ask(t, hooks("hub")[path], "", "{apiVersion: apps.kruise.io/"+version+", kind: SidecarSet, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}")
		for _, patch := range response.Patches {
			if patch.Path == "/metadata/annotations" {
				annotations, _ := patch.Value.(map[string]any)
				hash, _ := annotations[appsv1beta1.SidecarSetHashAnnotation].(string)
				seen[hash] = true
			}
		}
	}
	if len(seen) != 1 || seen[""] {
		t.Errorf("hashes %v", seen)
	}
}

// TestBudgetsOfTheOldVersion: an operation that means nothing is refused where v1alpha1 gives it, and passes as v1beta1,
// which has a field for it.
func TestBudgetsOfTheOldVersion(t *testing.T) {
	const budget = `{apiVersion: policy.kruise.io/v1beta1, kind: PodUnavailableBudget, metadata: {name: b, namespace: default,
annotations: {kruise.io/pub-protect-operations: "DELETE,drop"}}, spec: {selector: {matchLabels: {a: b}}, maxUnavailable: 1}}`
	for version, allowed := range map[string]bool{"v1beta1": true, "v1alpha1": false} {
		req := request("", budget)
		req.RequestKind = &metav1.GroupVersionKind{Group: "policy.kruise.io", Version: version, Kind: "PodUnavailableBudget"}
		response := hooks("spoke")["/validate-policy-kruise-io-podunavailablebudget"].Handle(t.Context(), req)
		if response.Allowed != allowed || !allowed && !strings.Contains(response.Result.Message, `"drop" is none of`) {
			t.Errorf("%s: %+v", version, response.Result)
		}
	}
}
