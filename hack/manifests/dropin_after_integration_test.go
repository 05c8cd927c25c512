// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
)

// isSwitched wants the spoke to hold OpenKruise's Lease, OpenKruise's webhooks to be kept in files and nowhere else,
// and every CRD of OpenKruise's to be converted by the spoke, with Rollouts' left alone.
func (o *openKruise) isSwitched(t *testing.T) {
	lease := &coordinationv1.Lease{}
	if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: kruiseNamespace, Name: kruiseLease}, lease); err != nil {
		t.Fatal(err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder == "" || strings.HasPrefix(holder, kruiseManager) {
		t.Errorf("the Lease is held by %q", holder)
	}
	for _, kind := range []string{"Mutating", "Validating"} {
		name := "kruise-" + strings.ToLower(kind) + "-webhook-configuration"
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("admissionregistration.k8s.io/v1")
		obj.SetKind(kind + "WebhookConfiguration")
		if err := o.admin.Get(t.Context(), client.ObjectKey{Name: name}, obj); !apierrors.IsNotFound(err) {
			t.Errorf("%s is there: %v", name, err)
		}
		data, err := os.ReadFile(o.saved + "/" + name + ".yaml")
		if err != nil || !strings.Contains(string(data), "pod.kb.io") || strings.Contains(string(data), "resourceVersion") {
			t.Errorf("%s is kept as %s, %v", name, data, err)
		}
	}
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := o.admin.List(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds.Items {
		ours := crd.Labels["app.kubernetes.io/part-of"] == "flotilla"
		if ours == (crd.Spec.Group == "rollouts.kruise.io") {
			t.Errorf("%s has labels %v", crd.Name, crd.Labels)
		}
		if ours && len(crd.Spec.Versions) > 1 && convertedByOpenKruise(&crd) {
			t.Errorf("%s is converted by OpenKruise", crd.Name)
		}
	}
}

// updateInPlace changes images as users do, of a CloneSet through v1alpha1 and of a UnitedDeployment, and plays the
// kubelet: the same pods run the new image, and their revision is current.
func (o *openKruise) updateInPlace(t *testing.T) {
	before := o.pods(t)
	set := &appsv1alpha1.CloneSet{}
	o.change(t, set, "web", func() { set.Spec.Template.Spec.Containers[0].Image = "web:2" })
	united := &appsv1beta1.UnitedDeployment{}
	o.change(t, united, "zones", func() { united.Spec.Template.CloneSetTemplate.Spec.Template.Spec.Containers[0].Image = "zones:2" })
	o.await(t, "pods with the new images", func(ctx context.Context) error {
		o.playKubelet(t)
		var errs []error
		for _, name := range []string{"web", "zones-a-5k2wz", "zones-b-9c7dx"} {
			set := &appsv1beta1.CloneSet{}
			if err := o.admin.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, set); err != nil {
				return err
			}
			if s := set.Status; s.UpdatedAvailableReplicas != *set.Spec.Replicas || s.CurrentRevision != s.UpdateRevision || set.Generation == 1 {
				errs = append(errs, fmt.Errorf("%s: generation %d, status %+v", name, set.Generation, s))
			}
		}
		return errors.Join(errs...)
	})
	changed := 0
	for name, pod := range o.pods(t) {
		was, found := before[name]
		if !found || was.UID != pod.UID || pod.DeletionTimestamp != nil {
			t.Errorf("pod %s is another", name)
			continue
		}
		delete(before, name)
		if was.Spec.Containers[0].Image == pod.Spec.Containers[0].Image {
			if was.ResourceVersion != pod.ResourceVersion {
				t.Errorf("pod %s was written", name)
			}
			continue
		}
		changed++
		state := inplace.State{}
		if err := json.Unmarshal([]byte(pod.Annotations[appsv1beta1.InPlaceUpdateStateKey]), &state); err != nil || !strings.HasSuffix(pod.Spec.Containers[0].Image, ":2") ||
			state.Revision != pod.Labels[appsv1beta1.ControllerRevisionHashLabel] || state.Revision == was.Labels[appsv1beta1.ControllerRevisionHashLabel] {
			t.Errorf("pod %s: image %s, labels %v, state %+v, %v", name, pod.Spec.Containers[0].Image, pod.Labels, state, err)
		}
	}
	if changed != 5 || len(before) != 0 {
		t.Errorf("%d pods changed, gone are %v", changed, before)
	}
}

// change changes an object of the shop.
func (o *openKruise) change(t *testing.T, obj client.Object, name string, how func()) {
	t.Helper()
	o.await(t, "changing "+name, func(ctx context.Context) error {
		if err := o.admin.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, obj); err != nil {
			return err
		}
		how()
		return o.admin.Update(ctx, obj)
	})
}

func (o *openKruise) pods(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	if err := o.admin.List(t.Context(), list, client.InNamespace("shop")); err != nil {
		t.Fatal(err)
	}
	out := map[string]*corev1.Pod{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

// playKubelet runs the images that pods ask for, and makes pods ready whose gates are open.
func (o *openKruise) playKubelet(t *testing.T) {
	t.Helper()
	for _, pod := range o.pods(t) {
		before := pod.DeepCopy()
		open := true
		for i := range pod.Status.ContainerStatuses {
			status, spec := &pod.Status.ContainerStatuses[i], &pod.Spec.Containers[i]
			if status.Image != spec.Image {
				status.Image, status.ImageID, status.RestartCount = spec.Image, "sha256:"+strings.ReplaceAll(spec.Image, ":", "-"), status.RestartCount+1
			}
		}
		for _, gate := range pod.Spec.ReadinessGates {
			open = open && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
			})
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && open {
				c.Status = corev1.ConditionTrue
			}
		}
		if err := o.admin.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
}

// anotherRevision shows that this test can fail: with a revision that says something else than the template, a
// revision is made, and the comparison and the log of writes tell of it.
func (o *openKruise) anotherRevision(t *testing.T) {
	set := &appsv1beta1.CloneSet{}
	if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "old"}, set); err != nil {
		t.Fatal(err)
	}
	r := &appsv1.ControllerRevision{}
	if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: set.Status.UpdateRevision}, r); err != nil {
		t.Fatal(err)
	}
	if err := o.admin.Delete(t.Context(), r.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	r.ResourceVersion, r.UID = "", ""
	r.Data.Raw = []byte(strings.Replace(string(r.Data.Raw), `"terminationGracePeriodSeconds":30`, `"terminationGracePeriodSeconds":31`, 1))
	o.create(t, r)
	before, began := o.picture(t), time.Now()
	o.change(t, set, "old", func() { set.Labels["look"] = "again" })
	o.await(t, "another revision", func(context.Context) error {
		if len(o.writes(t, began)) == 0 {
			return errors.New("nothing is written")
		}
		return nil
	})
	if diff := written(before, o.picture(t)); !strings.Contains(diff, "ControllerRevision") {
		t.Errorf("only this is seen: %s", diff)
	}
}

// backAgain gives OpenKruise its webhooks and its replicas back, and stops the spoke.
func (o *openKruise) backAgain(t *testing.T) {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: kruiseNamespace, Name: kruiseManager}
	if err := o.admin.Get(t.Context(), key, deployment); err != nil {
		t.Fatal(err)
	}
	// To be is to be ready: no Deployment controller runs here.
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 100, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	if err := o.admin.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if output, err := o.script(t, "back").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	o.stopSpoke()
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{}
	if err := errors.Join(o.admin.List(t.Context(), validating), o.admin.List(t.Context(), mutating), o.admin.Get(t.Context(), key, deployment)); err != nil {
		t.Fatal(err)
	}
	if len(validating.Items) != 1 || validating.Items[0].Webhooks[0].Name != "vpod.kb.io" || len(mutating.Items) != 1 || mutating.Items[0].Webhooks[0].Name != "mpod.kb.io" {
		t.Errorf("the webhooks are %v and %v", validating.Items, mutating.Items)
	}
	spoke := &appsv1.Deployment{}
	if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: kruiseNamespace, Name: "flotilla-spoke"}, spoke); err != nil || *spoke.Spec.Replicas != 0 || *deployment.Spec.Replicas != 2 {
		t.Errorf("the spoke has %d replicas, OpenKruise %d, %v", *spoke.Spec.Replicas, *deployment.Spec.Replicas, err)
	}
}

// removeRest removes what OpenKruise ran by, and nothing else of its namespace.
func (o *openKruise) removeRest(t *testing.T) {
	if output, err := o.script(t, "remove").CombinedOutput(); err == nil {
		t.Errorf("OpenKruise is removed while it runs: %s", output)
	}
	deployment := &appsv1.Deployment{}
	if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: kruiseNamespace, Name: kruiseManager}, deployment); err != nil {
		t.Fatal(err)
	}
	deployment.Spec.Replicas = ptr.To[int32](0)
	if err := o.admin.Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if output, err := o.script(t, "remove").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for name, obj := range map[string]client.Object{
		kruiseManager: &appsv1.Deployment{}, "kruise-daemon": &appsv1.DaemonSet{}, kruiseService: &corev1.Service{}, "kruise-webhook-certs": &corev1.Secret{},
	} {
		if err := o.admin.Get(t.Context(), client.ObjectKey{Namespace: kruiseNamespace, Name: name}, obj); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	left := &appsv1.ControllerRevisionList{}
	if err := o.admin.List(t.Context(), left, client.InNamespace(kruiseNamespace)); err != nil || len(left.Items) != 1 {
		t.Errorf("of the history of SidecarSets %d are left, %v", len(left.Items), err)
	}
}
