// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const aDistribution = `
apiVersion: apps.kruise.io/v1beta1
kind: ResourceDistribution
metadata: {name: tried}
spec:
  resource: {apiVersion: v1, kind: Secret, metadata: {name: tried, namespace: nowhere}, type: kubernetes.io/tls, data: {tls.crt: YQ==, tls.key: YQ==}}
  targets: {allNamespaces: true}
`

const aConfigMapSet = `
apiVersion: apps.kruise.io/v1alpha1
kind: ConfigMapSet
metadata: {name: used, namespace: default}
spec: {selector: {matchLabels: {set: used}}, data: {k: one}, revisionHistoryLimit: 1, containers: [{name: c, mountPath: /m}]}
`

func object[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// looksAround: what a spoke has to look up it may, and it creates nothing.
func looksAround(t *testing.T, cfg *rest.Config) {
	c, err := client.New(cfg, client.Options{Scheme: served["spoke"].scheme()})
	if err != nil {
		t.Fatal(err)
	}
	dry := client.NewDryRunClient(c)
	if err := dry.Create(t.Context(), object[appsv1beta1.ResourceDistribution](t, aDistribution)); err != nil {
		t.Error(err)
	}
	err = dry.Create(t.Context(), object[appsv1beta1.ResourceDistribution](t, strings.Replace(aDistribution, "tls.crt: YQ==, ", "", 1)))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.resource") || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("a Secret that cannot be: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "tried"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret that was tried: %v", err)
	}

	set := object[appsv1alpha1.ConfigMapSet](t, aConfigMapSet)
	hash := appsv1alpha1.ConfigMapSetRevision(set.Spec.Data)
	revisions, err := json.Marshal([]appsv1alpha1.ConfigMapSetRevisionEntry{{Hash: hash, Data: set.Spec.Data}})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "user", Labels: set.Spec.Selector.MatchLabels, Annotations: map[string]string{
			appsv1alpha1.ConfigMapSetAnnotationPrefix + "used" + appsv1alpha1.ConfigMapSetCurrentRevisionSuffix: hash,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "used-hub"}, Data: map[string]string{"revisions": string(revisions)}}
	for _, obj := range []client.Object{set, stored, pod} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	set.Spec.Data = map[string]string{"k": "two"}
	if err := dry.Update(t.Context(), set.DeepCopy()); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "pods user") {
		t.Errorf("content beside that of a pod: %v", err)
	}
	pod.Status.Phase = corev1.PodSucceeded
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := dry.Update(t.Context(), set); err != nil {
		t.Errorf("the pod has ended: %v", err)
	}
}
