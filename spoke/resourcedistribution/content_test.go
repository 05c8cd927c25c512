// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func distributionOf(resource string) *v1beta1.ResourceDistribution {
	return &v1beta1.ResourceDistribution{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates", UID: "uid-1", Generation: 3},
		Spec:       v1beta1.ResourceDistributionSpec{Resource: runtime.RawExtension{Raw: []byte(resource)}},
	}
}

const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"tls","namespace":"elsewhere","labels":{"a":"b"},"finalizers":["x/y"],
 "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"uid-2","controller":true}]},"data":{"k":"dg=="},"stringData":{"s":"t"}}`

func TestMade(t *testing.T) {
	rd := distributionOf(secret)
	tmpl, err := templateOf(rd)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tmpl.made(rd, "shop")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "tls", Labels: map[string]string{"a": "b", "flotilla.sh/distributed": "true"}, Finalizers: []string{"x/y"},
			Annotations: map[string]string{
				"kruise.io/resourcedistribution.resource.hashcode": hex.EncodeToString(sum[:]),
				"kruise.io/resourcedistribution.resource.from":     "certificates",
			},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-2"},
				{APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-1", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)},
			},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"k": []byte("v"), "s": []byte("t")},
	}
	if d := cmp.Diff(client.Object(want), got); d != "" {
		t.Error(d)
	}
}

// What others gave a copy stays, but for its content and owners.
func TestOnto(t *testing.T) {
	rd := distributionOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"a":"new"}},"data":{"k":"v"},"immutable":true}`)
	tmpl, err := templateOf(rd)
	if err != nil {
		t.Fatal(err)
	}
	got := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"a": "old", "their": "label"}, Annotations: map[string]string{"their": "annotation"}, Finalizers: []string{"their/finalizer"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-1", Controller: ptr.To(true)}},
			ResourceVersion: "7",
		},
		Data: map[string]string{"k": "edited", "more": "x"}, BinaryData: map[string][]byte{"b": {1}},
	}
	tmpl.onto(rd, got)
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{"a": "new", "their": "label", "flotilla.sh/distributed": "true"},
			Annotations:     map[string]string{"their": "annotation", v1beta1.ResourceHashKey: tmpl.hash, v1beta1.ResourceSourceKey: "certificates"},
			Finalizers:      []string{"their/finalizer"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rd, kind)},
			ResourceVersion: "7",
		},
		Data: map[string]string{"k": "v"}, Immutable: ptr.To(true),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The digest is of what the API server stores, and of nothing but the content.
func TestDigest(t *testing.T) {
	of := func(resource string) string {
		t.Helper()
		tmpl, err := templateOf(distributionOf(resource))
		if err != nil {
			t.Fatal(err)
		}
		return tmpl.digest
	}
	base := of(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"dg=="}}`)
	for name, tc := range map[string]struct {
		resource string
		same     bool
	}{
		"other metadata":  {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b","labels":{"x":"y"}},"data":{"k":"dg=="}}`, true},
		"as a string":     {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"k":"v"}}`, true},
		"the type it has": {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"Opaque","data":{"k":"dg=="}}`, true},
		"another type":    {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"type":"x/y","data":{"k":"dg=="}}`, false},
		"another value":   {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"dw=="}}`, false},
		"one more key":    {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"dg==","l":""}}`, false},
		"immutable":       {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"dg=="},"immutable":true}`, false},
		"a ConfigMap":     {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(tc.resource) == base; got != tc.same {
				t.Errorf("same content: %v", got)
			}
		})
	}
}

// No error shows what is in a Secret.
func TestBadTemplates(t *testing.T) {
	for name, resource := range map[string]string{
		"nothing": "", "another version": `{"apiVersion":"v2","kind":"Secret","metadata":{"name":"hunter"}}`, "no object": `"hunter2"`, "no JSON": `{"data":hunter2`, "another kind": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"hunter"}}`,
		"no name": `{"apiVersion":"v1","kind":"Secret","data":{"k":"aHVudGVyMg=="}}`, "no base64": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":"hunter2!"}}`,
		"no map": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":"hunter2"}`, "kind is none": `{"kind":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := templateOf(distributionOf(resource))
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The cache keeps no content.
func TestStrip(t *testing.T) {
	for _, obj := range []client.Object{
		&corev1.Secret{Data: map[string][]byte{"k": []byte("hunter2")}}, &corev1.ConfigMap{Data: map[string]string{"k": "hunter2"}, BinaryData: map[string][]byte{"b": []byte("hunter2")}},
	} {
		obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hunter2", v1beta1.ResourceHashKey: "h"})
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "hunter2"}})
		digest := digestOf(obj)
		out, err := strip(obj)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(out)
		if err != nil || strings.Contains(string(raw), "hunter2") || strings.Contains(string(raw), "aHVudGVyMg") {
			t.Errorf("%s, %v", raw, err)
		}
		if got := keptDigest(out.(client.Object)); got != digest {
			t.Errorf("digest %q, want %q", got, digest)
		}
		want := map[string]string{v1beta1.ResourceHashKey: "h"}
		if d := cmp.Diff(want, out.(client.Object).GetAnnotations()); d != "" {
			t.Error(d)
		}
	}
}

// A list that is watched passes twice. The digest is that of the content all the same, and that of nobody's annotation.
func TestStripTwice(t *testing.T) {
	for _, obj := range []client.Object{&corev1.Secret{Data: map[string][]byte{"k": []byte("v")}}, &corev1.ConfigMap{Data: map[string]string{"k": "v"}}} {
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody", Operation: metav1.ManagedFieldsOperationApply}})
		want := digestOf(obj)
		once, err := strip(obj)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := strip(once)
		if err != nil {
			t.Fatal(err)
		}
		if got := keptDigest(twice.(client.Object)); got != want {
			t.Errorf("%T: digest %q, want %q", obj, got, want)
		}
	}
}

func TestIsOurs(t *testing.T) {
	rd := distributionOf(secret)
	of := func(ref metav1.OwnerReference) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}}
	}
	yes := ptr.To(true)
	for name, tc := range map[string]struct {
		ref  metav1.OwnerReference
		want bool
	}{
		"ours":               {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-1", Controller: yes}, true},
		"of the old version": {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-1", Controller: yes}, true},
		"of one before us":   {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-0", Controller: yes}, false},
		"without a uid":      {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "certificates", Controller: yes}, true},
		"no controller":      {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "ResourceDistribution", Name: "certificates", UID: "uid-1"}, false},
		"another kind":       {metav1.OwnerReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet", Name: "certificates", UID: "uid-1", Controller: yes}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isOurs(of(tc.ref), rd); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
