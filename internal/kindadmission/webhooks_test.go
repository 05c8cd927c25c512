// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	policyv1alpha1 "github.com/flotilla-sh/flotilla/apis/policy/v1alpha1"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	rolloutsv1alpha1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1alpha1"
	rolloutsv1beta1 "github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// components are those that serve the table, each with its own manifests.
var components = []string{"hub", "spoke"}

// entries are the webhooks of a component that admit objects, without those of other kinds.
func entries(t *testing.T, component string) []testkit.Webhook {
	t.Helper()
	return slices.DeleteFunc(testkit.Webhooks(t, component), func(e testkit.Webhook) bool {
		return slices.Contains([]string{"", "fleet.kruise.io"}, e.Rules[0].APIGroups[0]) || !slices.Contains(e.Rules[0].Operations, admissionregistrationv1.Create)
	})
}

func read(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

// member is a cluster that knows what the client knows, and what it is told of sidecars and revisions.
type member struct {
	client.Reader
	history validation.ConfigMapSetHistory
	sidecar map[string]string
	refuses error
}

func (m member) TryOut(context.Context, *unstructured.Unstructured) error { return m.refuses }

func (m member) ConfigMapSetHistory(context.Context, *appsv1alpha1.ConfigMapSet) (validation.ConfigMapSetHistory, error) {
	return m.history, nil
}

func (m member) Pod(ctx context.Context, key client.ObjectKey) (*corev1.Pod, *corev1.Node, error) {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	if m.Get(ctx, key, pod) != nil {
		return nil, nil, nil
	}
	if m.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node) != nil {
		return pod, nil, nil
	}
	return pod, node, nil
}

func (m member) Templates(context.Context, string, *appsv1beta1.TargetReference) (*corev1.PodTemplateSpec, []corev1.PersistentVolumeClaim, error) {
	return nil, nil, nil
}

func (m member) StorageClasses(context.Context) ([]storagev1.StorageClass, error) { return nil, nil }

func (m member) SidecarSetRevisions(ctx context.Context, name string) ([]validation.SidecarSetRevision, error) {
	list := appsv1.ControllerRevisionList{}
	err := m.List(ctx, &list, client.MatchingLabels{appsv1beta1.SidecarSetNameLabel: name})
	var out []validation.SidecarSetRevision
	for i := range list.Items {
		out = append(out, validation.SidecarSetRevision{Name: list.Items[i].Name, CustomVersion: list.Items[i].Labels[appsv1beta1.SidecarSetCustomVersionLabel]})
	}
	return out, err
}

func (m member) ReloadSidecar(context.Context, *appsv1alpha1.ConfigMapSet) (validation.ReloadSidecarFacts, error) {
	return validation.ReloadSidecarFacts{ConfigMapOptional: true, ConfigMap: m.sidecar}, nil
}

var scheme = func() *runtime.Scheme {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, appsv1beta1.AddToScheme, appsv1alpha1.AddToScheme, policyv1beta1.AddToScheme,
		policyv1alpha1.AddToScheme, rolloutsv1beta1.AddToScheme, rolloutsv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(out))
	}
	return out
}()

// hooks are all webhooks of a component, in a cluster with these objects.
func hooks(component string, objects ...runtime.Object) map[string]*admission.Webhook {
	reader := fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).Build()
	f := Facts{Reader: reader, Namespace: "flotilla-system", Clock: clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))}
	if component == "spoke" {
		f.Member = member{Reader: reader}
	}
	return Webhooks(scheme, f)
}

// notAdmitted are the kinds whose schema says all.
var notAdmitted = []string{"nodepodprobes", "rollouthistories", "fleetplacements", "fleetslices"}

// definitions are the generated CRDs.
func definitions(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../generated/manifests/crd/*.kruise.io_*.yaml")
	if err != nil || len(files) < 24 {
		t.Fatalf("found %v, %v", files, err)
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		read(t, data, &crd)
		out = append(out, crd)
	}
	return out
}

// TestEveryVersionIsAdmitted: whatever version an object is sent in, exactly one webhook validates it, and at
// most one fills it in.
func TestEveryVersionIsAdmitted(t *testing.T) {
	for _, component := range components {
		everyVersion(t, component)
	}
}

func everyVersion(t *testing.T, component string) {
	t.Helper()
	all := entries(t, component)
	for _, crd := range definitions(t) {
		plural := crd.Spec.Names.Plural
		for _, version := range crd.Spec.Versions {
			asked := map[bool]int{}
			for _, e := range all {
				if asks(&e, crd.Spec.Group, version.Name, plural) {
					asked[e.Mutating]++
				}
			}
			want := 1
			if slices.Contains(notAdmitted, plural) {
				want = 0
			}
			if asked[false] != want || asked[true] > 1 {
				t.Errorf("%s: %s of %s: validated %d times, filled in %d times", component, plural, version.Name, asked[false], asked[true])
			}
		}
	}
}

// asks says whether a webhook is asked about a resource.
func asks(e *testkit.Webhook, group, version, resource string) bool {
	equivalent := e.Match != nil && *e.Match == admissionregistrationv1.Equivalent
	return slices.ContainsFunc(e.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && (equivalent || slices.Contains(r.APIVersions, version))
	})
}

// ask sends an object to the webhook at a path.
func ask(t *testing.T, hook *admission.Webhook, old, object string) admission.Response {
	t.Helper()
	return hook.Handle(t.Context(), request(old, object))
}

// request asks about an object; old is the one that is there, if any. Both are JSON or YAML.
func request(old, object string) admission.Request {
	out := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create}}
	meta := metav1.TypeMeta{}
	out.Object.Raw, _ = yaml.YAMLToJSON([]byte(object)) // what is no YAML, the webhook refuses
	_ = json.Unmarshal(out.Object.Raw, &meta)
	out.Kind = metav1.GroupVersionKind(meta.GroupVersionKind())
	if old != "" {
		out.Operation = admissionv1.Update
		out.OldObject.Raw, _ = yaml.YAMLToJSON([]byte(old))
	}
	return out
}

// TestBareObjectsCrashNothing: objects with nothing but a name, or with an empty spec, are answered.
func TestBareObjectsCrashNothing(t *testing.T) {
	kinds := map[string]string{}
	for _, crd := range definitions(t) {
		kinds[crd.Spec.Names.Plural] = crd.Spec.Names.Kind
	}
	for _, component := range components {
		bareObjects(t, component, kinds)
	}
}

func bareObjects(t *testing.T, component string, kinds map[string]string) {
	t.Helper()
	served := hooks(component)
	for _, e := range entries(t, component) {
		rule := e.Rules[0]
		version := schema.GroupVersion{Group: rule.APIGroups[0], Version: rule.APIVersions[0]}
		object := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a, namespace: default}\n", version, kinds[rule.Resources[0]])
		for _, spec := range []string{"", "spec: {}\n"} {
			for _, old := range []string{"", object} {
				response := ask(t, served[e.Path], old, object+spec)
				if response.Result != nil && response.Result.Code >= 500 {
					t.Errorf("%s: %s: %s", component, e.Name, response.Result.Message)
				}
			}
		}
	}
}

const recreate = `
apiVersion: apps.kruise.io/%s
kind: ContainerRecreateRequest
metadata: {name: r, namespace: default}
spec: {podName: p, containers: [{name: c}]}
`

// TestRequestsAreCompletedFromTheirPod, or refused where it is not as they want it.
func TestRequestsAreCompletedFromTheirPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "uid"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ContainerID: "x://1"}}},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for version, path := range map[string]string{
		"v1beta1": "/mutate-apps-kruise-io-containerrecreaterequest", "v1alpha1": "/mutate-apps-kruise-io-v1alpha1-containerrecreaterequest",
	} {
		request := fmt.Sprintf(recreate, version)
		response := ask(t, hooks("spoke", pod, node)[path], "", request)
		if !response.Allowed || len(response.Patches) == 0 {
			t.Errorf("%s: %+v", version, response)
		}
		if response := ask(t, hooks("hub")[path], "", request); !response.Allowed || len(response.Patches) > 0 {
			t.Errorf("%s: the hub knows no pods: %+v", version, response)
		}
		for missing, objects := range map[string][]runtime.Object{"no found Pod": {node}, "failed to get Node": {pod}} {
			response := ask(t, hooks("spoke", objects...)[path], "", request)
			if response.Allowed || response.Result.Code != 422 || !strings.Contains(response.Result.Message, missing) {
				t.Errorf("%s: %+v", version, response.Result)
			}
		}
	}
}

// unreachable is a member whose API server does not answer.
type unreachable struct{ member }

func (unreachable) Pod(context.Context, client.ObjectKey) (*corev1.Pod, *corev1.Node, error) {
	return nil, nil, errors.New("nobody answers")
}

// TestRequestsWithoutAnswer: that the pod cannot be asked for is our failure, not the request's.
func TestRequestsWithoutAnswer(t *testing.T) {
	hook := Webhooks(scheme, Facts{Member: unreachable{}})["/mutate-apps-kruise-io-containerrecreaterequest"]
	response := ask(t, hook, "", fmt.Sprintf(recreate, "v1beta1"))
	if response.Allowed || response.Result.Code != 500 || !strings.Contains(response.Result.Message, "nobody answers") {
		t.Errorf("%+v", response.Result)
	}
}
