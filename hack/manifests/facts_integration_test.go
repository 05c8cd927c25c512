// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

	asksForNodes(t, c)

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

// asksForNodes: a request to restart containers says so where a virtual kubelet is to carry it out, and only there.
func asksForNodes(t *testing.T, c client.Client) {
	t.Helper()
	for name, labels := range map[string]map[string]string{"real": nil, "virtual": {appsv1beta1.NodeTypeLabel: appsv1beta1.VirtualKubeletNodeType}} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-" + name},
			Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "app", Image: "i"}}},
		}
		for _, obj := range []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, pod} {
			if err := c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: "containerd://1"}}
		if err := c.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		request := &appsv1beta1.ContainerRecreateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "restart"}}
		request.Spec.PodName, request.Spec.Containers = pod.Name, []appsv1beta1.ContainerRecreateRequestContainer{{Name: "app"}}
		if err := client.NewDryRunClient(c).Create(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			appsv1beta1.ContainerRecreateRequestPodUIDKey: string(pod.UID), appsv1beta1.ContainerRecreateRequestNodeNameKey: name,
			appsv1beta1.ContainerRecreateRequestActiveKey: "true",
		}
		maps.Copy(want, labels)
		if diff := cmp.Diff(want, request.Labels); diff != "" {
			t.Errorf("labels of a request for a pod on a %s node (-want +got):\n%s", name, diff)
		}
	}
}
