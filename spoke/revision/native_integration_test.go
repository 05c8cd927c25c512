// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package revision

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// plenty is a template with something of what serialises in a way of its own.
func plenty(t *corev1.PodTemplateSpec) {
	t.Annotations = map[string]string{"example.com/markup": "<&>"}
	t.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	t.Spec.SecurityContext = &corev1.PodSecurityContext{}
	c := &t.Spec.Containers[0]
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1")}
	c.Env = []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
	t.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
	}}}}
}

// TestNativeControllersAgree: the advanced StatefulSet and DaemonSet keep their history as the native ones
// do, and those run here: what they make of a template is what we make of it. They are built on a library
// that leaves the null time stamps out, which OpenKruise's wrote and we write: with those taken out the bytes
// are the same, and so are the names made of the bytes, and of the template.
func TestNativeControllersAgree(t *testing.T) {
	server := testkit.Start(t)
	c, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server.StartControllers(t, "statefulset-controller", "daemonset-controller")
	for name, change := range map[string]func(*corev1.PodTemplateSpec){"plain": nil, "plenty": plenty} {
		t.Run(name, func(t *testing.T) {
			selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
			meta := metav1.ObjectMeta{Namespace: "default", Name: name}
			set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: *template(change)}}
			daemons := &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: *template(change)}}
			for _, obj := range []client.Object{set, daemons} {
				if err := c.Create(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
			}
			agree(t, revisionBy(t, c, set), &set.Spec.Template, func(bytes []byte) (string, string) {
				return appsv1beta1.ControllerHashLabel, Hash(bytes, nil)
			})
			agree(t, revisionBy(t, c, daemons), &daemons.Spec.Template, func([]byte) (string, string) {
				return appsv1beta1.ControllerRevisionHashLabel, TemplateHash(&daemons.Spec.Template, nil)
			})
		})
	}
}

// agree compares a native revision with what is made here of the same template, with admission's defaults.
func agree(t *testing.T, native *appsv1.ControllerRevision, template *corev1.PodTemplateSpec, hashOf func([]byte) (label, hash string)) {
	t.Helper()
	payload, err := Payload(template)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(withoutTimestamps(t, native.Data.Raw)), string(withoutTimestamps(t, payload))); diff != "" {
		t.Errorf("payload (-native +ours):\n%s", diff)
	}
	if !Equal(native, dataOf(payload)) {
		t.Error("the payloads are not equal")
	}
	label, hash := hashOf(native.Data.Raw)
	if native.Labels[label] != hash || native.Name != Name(native.OwnerReferences[0].Name, hash) {
		t.Errorf("the native one is %s, labelled %v; our hash is %s", native.Name, native.Labels, hash)
	}
}

// withoutTimestamps takes the null time stamps out, and leaves keys sorted.
func withoutTimestamps(t *testing.T, payload []byte) []byte {
	t.Helper()
	var tree any
	if err := json.Unmarshal(payload, &tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(withoutNulls(tree))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// revisionBy waits for the first revision that a workload controls.
func revisionBy(t *testing.T, c client.Client, owner client.Object) *appsv1.ControllerRevision {
	t.Helper()
	var found *appsv1.ControllerRevision
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var list appsv1.ControllerRevisionList
		if err := c.List(ctx, &list, client.InNamespace(owner.GetNamespace())); err != nil {
			return false, err
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], owner) {
				found = &list.Items[i]
			}
		}
		return found != nil, nil
	})
	if err != nil {
		t.Fatalf("no revision of %T %s: %v", owner, owner.GetName(), err)
	}
	return found
}
