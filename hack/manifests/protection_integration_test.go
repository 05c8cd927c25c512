// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const (
	protectKey = "policy.kruise.io/delete-protection"
	protected  = "forbidden by ResourcesProtectionDeletion for " + protectKey + "="
)

// TestDeletionProtection plays what OpenKruise's tests do, against the spoke as it is shipped: away, with the gate off,
// and with it on, where the webhook of pods is off (DP-02).
func TestDeletionProtection(t *testing.T) {
	s := ship(t, []string{"apply", "-f", "-"})
	t.Run("the spoke is away", func(t *testing.T) { s.in(t).spokeIsAway() })
	stop := s.start()
	t.Run("the gate is off", func(t *testing.T) { s.in(t).gateIsOff() })
	stop()
	switchGates(t, map[string]bool{"ResourcesDeletionProtection": true, "DeletionProtectionForCRDCascadingGate": true, "PodWebhook": false})
	stop = s.start()
	s.webhooks(false)
	t.Run("workloads", func(t *testing.T) { s.in(t).workloads() })
	t.Run("services and ingresses", func(t *testing.T) { s.in(t).services() })
	t.Run("namespaces", func(t *testing.T) { s.in(t).namespaces() })
	t.Run("definitions", func(t *testing.T) { s.in(t).definitions() })
	t.Run("many at once", func(t *testing.T) { s.in(t).manyAtOnce() })
	t.Run("uninstall", func(t *testing.T) { s.in(t).uninstall(stop) })
}

// in is the same spoke for a part of the test.
func (s *shipped) in(t *testing.T) *shipped {
	out := *s
	out.t = t
	return &out
}

// made makes an object, with the label if it is to have a value.
func (s *shipped) made(obj *unstructured.Unstructured, value string) *unstructured.Unstructured {
	s.t.Helper()
	obj = obj.DeepCopy()
	if value != "" {
		obj.SetLabels(map[string]string{protectKey: value})
	}
	if err := s.admin.Create(s.t.Context(), obj); err != nil {
		s.t.Fatalf("%s: %v", obj.GetKind(), err)
	}
	return obj
}

// merged changes an object.
func (s *shipped) merged(obj *unstructured.Unstructured, patch string) {
	s.t.Helper()
	if err := s.admin.Patch(s.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		s.t.Fatalf("%s: %v", obj.GetKind(), err)
	}
}

func (s *shipped) relabelled(obj *unstructured.Unstructured, value string) {
	s.t.Helper()
	s.merged(obj, fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, protectKey, value))
}

// refuses waits until a deletion would be refused in such words, and wants it to be.
func (s *shipped) refuses(obj *unstructured.Unstructured, because string) {
	s.t.Helper()
	refused := func(err error) error {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `denied the request: `+protected+because) {
			return fmt.Errorf("%w, want %s", err, because)
		}
		return nil
	}
	s.await("a deletion is refused", func(ctx context.Context) error { return refused(s.admin.Delete(ctx, obj, client.DryRunAll)) })
	if err := refused(s.admin.Delete(s.t.Context(), obj)); err != nil {
		s.t.Fatal(err)
	}
}

// deletes waits until a deletion is not refused, and makes it.
func (s *shipped) deletes(obj *unstructured.Unstructured) {
	s.t.Helper()
	s.await(obj.GetKind()+" can be deleted", func(ctx context.Context) error { return s.admin.Delete(ctx, obj) })
}

func plain(apiVersion, kind, name, rest string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if rest != "" {
		if err := json.Unmarshal([]byte(rest), &obj.Object); err != nil {
			panic(kind + ": " + err.Error())
		}
	}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	if kind != "Namespace" && kind != "CustomResourceDefinition" {
		obj.SetNamespace("default")
	}
	return obj
}

// workload is one of that kind with so many replicas.
func workload(apiVersion, kind string, count int) *unstructured.Unstructured {
	const pods = `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"a","image":"i"}]}}`
	rest := `{"spec":{"selector":{"matchLabels":{"app":"web"}},"serviceName":"web","template":` + pods + `}}`
	if kind != "StatefulSet" {
		rest = strings.Replace(rest, `"serviceName":"web",`, "", 1)
	}
	if kind == "UnitedDeployment" {
		rest = `{"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"deploymentTemplate":{"metadata":{"labels":{"app":"web"}},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":` + pods + `}}},"topology":{"subsets":[{"name":"a"}]}}}`
	}
	group := strings.ReplaceAll(strings.ReplaceAll(apiVersion, "/", "-"), ".", "-")
	obj := plain(apiVersion, kind, strings.ToLower(kind)+"-"+group, rest)
	obj.Object["spec"].(map[string]any)["replicas"] = int64(count)
	return obj
}

// spokeIsAway: only what asks for protection waits for it, and nothing in the system's namespace and ours does.
func (s *shipped) spokeIsAway() {
	deployment := workload("apps/v1", "Deployment", 1)
	s.deletes(s.made(deployment, ""))
	s.deletes(s.made(plain("v1", "Namespace", "unlabelled", ""), ""))
	held := s.made(deployment, "Cascading")
	s.await("what is protected waits", func(ctx context.Context) error {
		if err := s.admin.Delete(ctx, held, client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("deletion: %w", err)
		}
		return nil
	})
	for _, ns := range []string{metav1.NamespaceSystem, namespace} {
		here := deployment.DeepCopy()
		here.SetNamespace(ns)
		if err := s.admin.Delete(s.t.Context(), s.made(here, "Always")); err != nil {
			s.t.Errorf("in %s: %v", ns, err)
		}
	}
	s.relabelled(held, "null")
	s.deletes(held)
}

// gateIsOff: nobody is asked, and who is asked says yes.
func (s *shipped) gateIsOff() {
	s.webhooks(true)
	for _, obj := range []*unstructured.Unstructured{workload("apps/v1", "Deployment", 1), workload("apps.kruise.io/v1beta1", "CloneSet", 1), plain("v1", "Namespace", "gate-off", "")} {
		if err := s.admin.Delete(s.t.Context(), s.made(obj, "Always")); err != nil {
			s.t.Error(err)
		}
	}
}

// workloads of all kinds and versions, each as users sent them.
func (s *shipped) workloads() {
	for apiVersion, kinds := range map[string][]string{
		"apps/v1":                 {"Deployment", "ReplicaSet", "StatefulSet"},
		"apps.kruise.io/v1beta1":  {"CloneSet", "StatefulSet", "UnitedDeployment"},
		"apps.kruise.io/v1alpha1": {"CloneSet", "StatefulSet", "UnitedDeployment"},
	} {
		for _, kind := range kinds {
			obj := s.made(workload(apiVersion, kind, 0), "Always")
			s.refuses(obj, "Always")
			s.relabelled(obj, `"Cascading"`)
			s.merged(obj, `{"spec":{"replicas":2}}`)
			s.refuses(obj, "Cascading: 2 replicas")
			s.merged(obj, `{"spec":{"replicas":0}}`)
			s.deletes(obj)
		}
	}
	for _, kind := range []string{"Deployment", "CloneSet"} {
		if !counted(s.t, "workload_deletion_protection", kind+"_default_") {
			s.t.Errorf("no metric counts a %s", kind)
		}
	}
}

// counted says whether a metric has a series whose labels begin so, of a user.
func counted(t *testing.T, metric, prefix string) bool {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if labels := m.GetLabel(); family.GetName() == metric && strings.HasPrefix(labels[0].GetValue(), prefix) && labels[1].GetValue() != "" {
				return true
			}
		}
	}
	return false
}

func (s *shipped) services() {
	for _, obj := range []*unstructured.Unstructured{
		plain("v1", "Service", "front", `{"spec":{"ports":[{"port":80}]}}`),
		plain("networking.k8s.io/v1", "Ingress", "front", `{"spec":{"defaultBackend":{"service":{"name":"front","port":{"number":80}}}}}`),
	} {
		held := s.made(obj, "Always")
		s.refuses(held, "Always")
		s.relabelled(held, "null")
		s.deletes(held)
		s.deletes(s.made(obj, "Cascading"))
	}
}

// namespaces: pods hold one, then claims alone (DP-01).
func (s *shipped) namespaces() {
	ns := s.made(plain("v1", "Namespace", "shop", ""), "Always")
	s.refuses(ns, "Always")
	s.relabelled(ns, `"Cascading"`)
	set := workload("apps.kruise.io/v1beta1", "CloneSet", 1)
	set.SetNamespace("shop")
	set = s.made(set, "")
	s.refuses(ns, "Cascading: 1 active pod")

	done := pod(0)
	done.SetNamespace("shop")
	done = s.made(done, "")
	done.Object["status"] = map[string]any{"phase": "Succeeded"}
	if err := s.admin.Status().Update(s.t.Context(), done); err != nil {
		s.t.Fatal(err)
	}
	claim := plain("v1", "PersistentVolumeClaim", "data", `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
	claim.SetNamespace("shop")
	claim = s.made(claim, "")
	claim.Object["status"] = map[string]any{"phase": "Bound"}
	if err := s.admin.Status().Update(s.t.Context(), claim); err != nil {
		s.t.Fatal(err)
	}
	s.merged(set, `{"spec":{"replicas":0}}`)
	s.refuses(ns, "Cascading: 1 bound PersistentVolumeClaim")
	s.deletes(claim)
	live := corev1.PersistentVolumeClaim{}
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(claim), &live); err != nil || live.DeletionTimestamp == nil {
		s.t.Fatalf("the claim is not there, with a finalizer: %v", err)
	}
	s.deletes(ns)
	if !counted(s.t, "namespace_deletion_protection", "shop") {
		s.t.Error("no metric counts the namespace")
	}
}

// definitions: a right is needed to look at their objects, and the message says which.
func (s *shipped) definitions() {
	ctx := s.t.Context()
	crd := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(widgets), crd); err != nil {
		s.t.Fatal(err)
	}
	crd = s.made(crd, "Always")
	s.refuses(crd, "Always")
	s.relabelled(crd, `"Cascading"`)
	widget := plain("example.com/v1", "Widget", "one", "")
	s.await("there is an object", func(ctx context.Context) error { return s.admin.Create(ctx, widget) })
	s.refuses(crd, "Cascading: flotilla-spoke has no right to list widgets.example.com: apply kustomize/crd-protection, or grant it verb list of widgets.example.com")
	kubectl(s.t, s.kubeconfig, nil, "apply", "-k", filepath.Join(testkit.Root(), "kustomize", "crd-protection"))
	s.refuses(crd, "Cascading: 1 custom resource")
	if err := s.admin.Delete(ctx, widget); err != nil {
		s.t.Fatal(err)
	}
	s.deletes(crd)
	if !counted(s.t, "crd_deletion_protection", "widgets.example.com") {
		s.t.Error("no metric counts the definition")
	}
}

const widgets = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{
	"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"Widgets"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// manyAtOnce: a collection is deleted but for what is protected.
func (s *shipped) manyAtOnce() {
	ctx := s.t.Context()
	held := s.made(workload("apps/v1", "Deployment", 1), "Always")
	for i := range 3 {
		other := workload("apps/v1", "Deployment", 1)
		other.SetName(fmt.Sprint("many-", i))
		s.made(other, "")
	}
	s.refuses(held, "Always")
	all := &unstructured.Unstructured{}
	all.SetGroupVersionKind(held.GroupVersionKind())
	if err := s.admin.DeleteAllOf(ctx, all, client.InNamespace("default")); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), protected+"Always") {
		s.t.Errorf("all were deleted: %v", err)
	}
	if err := s.admin.Get(ctx, client.ObjectKeyFromObject(held), held); err != nil || held.GetDeletionTimestamp() != nil {
		s.t.Errorf("what is protected is gone: %v", err)
	}
	s.relabelled(held, "null")
	if err := s.admin.DeleteAllOf(ctx, all, client.InNamespace("default")); err != nil {
		s.t.Error(err)
	}
}

// uninstall keeps the definitions, and by that all objects, as docs/install.md says; and definitions that are protected
// stay when somebody uninstalls the other way (DP-03).
func (s *shipped) uninstall(stop func()) {
	set := s.made(workload("apps.kruise.io/v1beta1", "CloneSet", 0), "")
	dir := filepath.Join(testkit.Root(), "kustomize", "spoke")
	kubectl(s.t, s.kubeconfig, nil, "label", "crd", "-l", "app.kubernetes.io/part-of=flotilla", protectKey+"=Always")
	crds := slices.DeleteFunc(slices.Clone(s.objects), func(obj *unstructured.Unstructured) bool { return obj.GetKind() != "CustomResourceDefinition" })
	for _, crd := range crds {
		s.refuses(crd, "Always")
	}
	all := exec.CommandContext(s.t.Context(), testkit.Program("kubectl"), "--kubeconfig", s.kubeconfig, "delete", "-k", dir, "--dry-run=server")
	if out, err := all.CombinedOutput(); err == nil || strings.Count(string(out), protected+"Always") != len(crds) {
		s.t.Errorf("of %d definitions not all would be refused: %v\n%s", len(crds), err, out)
	}
	stop()
	kubectl(s.t, s.kubeconfig, nil, "delete", "-k", dir, "-l", "app.kubernetes.io/component!=crds", "--wait=false")
	kept := map[string]int{}
	for _, obj := range s.objects {
		live := obj.DeepCopy()
		if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(obj), live); err == nil && live.GetDeletionTimestamp() == nil {
			kept[obj.GetKind()]++
		} else if client.IgnoreNotFound(err) != nil {
			s.t.Error(err)
		}
	}
	if len(kept) != 1 || kept["CustomResourceDefinition"] != len(crds) || len(crds) < 20 {
		s.t.Errorf("there are yet: %v", kept)
	}
	if err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(set), set); err != nil || set.GetDeletionTimestamp() != nil {
		s.t.Errorf("the CloneSet: %v", err)
	}
}
