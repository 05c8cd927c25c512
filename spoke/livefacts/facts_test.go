// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package livefacts

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/validation"
)

func in(objects ...client.Object) Facts {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appsv1beta1.AddToScheme(scheme))
	utilruntime.Must(appsv1alpha1.AddToScheme(scheme))
	return Facts{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Namespace: "flotilla-system"}
}

func TestPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	pending := &corev1.Pod{ObjectMeta: pod.ObjectMeta}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for name, c := range map[string]struct {
		there         []client.Object
		hasPod, found bool
	}{
		"both":    {[]client.Object{pod, node}, true, true},
		"no pod":  {[]client.Object{node}, false, false},
		"no node": {[]client.Object{pod}, true, false},
		"pending": {[]client.Object{pending, node}, true, false},
	} {
		gotPod, gotNode, err := in(c.there...).Pod(t.Context(), client.ObjectKeyFromObject(pod))
		if err != nil || (gotPod != nil) != c.hasPod || (gotNode != nil) != c.found {
			t.Errorf("%s: %v, %v, %v", name, gotPod, gotNode, err)
		}
	}
}

func TestSidecarSetRevisions(t *testing.T) {
	revision := func(namespace, set string) client.Object {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set + "-1", Labels: map[string]string{
			appsv1beta1.SidecarSetNameLabel: set, appsv1beta1.SidecarSetCustomVersionLabel: "v",
		}}}
	}
	got, err := in(revision("flotilla-system", "a"), revision("flotilla-system", "b"), revision("default", "a")).SidecarSetRevisions(t.Context(), "a")
	if diff := cmp.Diff([]validation.SidecarSetRevision{{Name: "a-1", CustomVersion: "v"}}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
}

func TestTemplates(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "d", Name: "w"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	claims := []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}
	f := in(
		&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1beta1.CloneSet{ObjectMeta: meta, Spec: appsv1beta1.CloneSetSpec{Template: template, VolumeClaimTemplates: claims}},
	)
	for name, c := range map[string]struct {
		ref    appsv1beta1.TargetReference
		found  bool
		claims int
	}{
		"Deployment":  {appsv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "w"}, true, 0},
		"CloneSet":    {appsv1beta1.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "w"}, true, 1},
		"not there":   {appsv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "w"}, false, 0},
		"of no known": {appsv1beta1.TargetReference{APIVersion: "a.io/v1", Kind: "Game", Name: "w"}, false, 0},
	} {
		got, gotClaims, err := f.Templates(t.Context(), "d", &c.ref)
		if err != nil || (got != nil) != c.found || len(gotClaims) != c.claims {
			t.Errorf("%s: %v, %v, %v", name, got, gotClaims, err)
		}
	}
}

func reloaded(config *appsv1alpha1.ReloadSidecarConfig) *appsv1alpha1.ConfigMapSet {
	return &appsv1alpha1.ConfigMapSet{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "c"}, Spec: appsv1alpha1.ConfigMapSetSpec{ReloadSidecarConfig: config}}
}

func TestReloadSidecar(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: map[string]string{"a": "b"}}}
	set := &appsv1beta1.SidecarSet{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	obj := reloaded(&appsv1alpha1.ReloadSidecarConfig{
		Type:   appsv1alpha1.ReloadSidecarTypeSidecarSet,
		Config: &appsv1alpha1.ReloadSidecarOptions{SidecarSetRef: &appsv1alpha1.ReloadSidecarSetRef{Name: "s"}},
	})
	for name, c := range map[string]struct {
		there []client.Object
		found bool
	}{"there": {[]client.Object{namespace, set}, true}, "not there": {[]client.Object{namespace}, false}} {
		got, err := in(c.there...).ReloadSidecar(t.Context(), obj)
		if err != nil || (got.SidecarSet != nil) != c.found || got.NamespaceLabels["a"] != "b" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestReloadSidecarOfAConfigMap: it is in the namespace that is named, else in the set's own; only the one that
// nobody named may be missing.
func TestReloadSidecarOfAConfigMap(t *testing.T) {
	custom := func(namespace, name string) *appsv1alpha1.ConfigMapSet {
		return reloaded(&appsv1alpha1.ReloadSidecarConfig{
			Type:   appsv1alpha1.ReloadSidecarTypeCustom,
			Config: &appsv1alpha1.ReloadSidecarOptions{ConfigMapRef: &appsv1alpha1.ReloadSidecarConfigMapRef{Namespace: namespace, Name: name}},
		})
	}
	config := func(namespace string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}, Data: map[string]string{"in": namespace}}
	}
	f := in(config("d"), config("x"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "empty"}})
	for name, c := range map[string]struct {
		obj  *appsv1alpha1.ConfigMapSet
		want validation.ReloadSidecarFacts
	}{
		"named":       {custom("x", "m"), validation.ReloadSidecarFacts{ConfigMap: map[string]string{"in": "x"}}},
		"its own":     {custom("", "m"), validation.ReloadSidecarFacts{ConfigMap: map[string]string{"in": "d"}}},
		"empty":       {custom("", "empty"), validation.ReloadSidecarFacts{ConfigMap: map[string]string{}}},
		"not there":   {custom("x", "n"), validation.ReloadSidecarFacts{}},
		"the default": {custom("kruise-system", "default-reload-sidecar-config"), validation.ReloadSidecarFacts{ConfigMapOptional: true}},
		"none":        {reloaded(nil), validation.ReloadSidecarFacts{}},
	} {
		got, err := f.ReloadSidecar(t.Context(), c.obj)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s, %v", name, diff, err)
		}
	}
}

func TestTryOutCreatesNothing(t *testing.T) {
	f := in()
	f.Dry = f.Reader.(client.Client)
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "x", "name": "s"}}}
	if err := f.TryOut(t.Context(), secret); err != nil || secret.GetNamespace() != "x" {
		t.Errorf("%v, %v", secret, err)
	}
	list := corev1.SecretList{}
	if err := f.List(t.Context(), &list); err != nil || len(list.Items) > 0 {
		t.Errorf("there are %v, %v", list.Items, err)
	}
}

// TestWhatCannotBeReadIsAnError and never taken for what is not there.
func TestWhatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	f := Facts{Reader: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})}
	_, _, podErr := f.Pod(t.Context(), client.ObjectKey{})
	_, _, templatesErr := f.Templates(t.Context(), "d", &appsv1beta1.TargetReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "w"})
	_, classesErr := f.StorageClasses(t.Context())
	_, revisionsErr := f.SidecarSetRevisions(t.Context(), "a")
	for name, err := range map[string]error{"pod": podErr, "templates": templatesErr, "classes": classesErr, "revisions": revisionsErr} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
