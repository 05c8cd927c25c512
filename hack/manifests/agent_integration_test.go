// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const fleetSlice = `
apiVersion: fleet.kruise.io/v1alpha1
kind: FleetSlice
metadata:
  name: web
  namespace: east
  labels: {fleet.kruise.io/source-uid: u}
  annotations: {internal.fleet.kruise.io/held: '{"a":3}'}
  finalizers: [example.com/other, fleet.kruise.io/member-cleanup]
spec:
  epoch: 1
  source: {apiVersion: apps.kruise.io/v1beta1, kind: CloneSet, name: web, uid: u}
  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {k: v, list: "1"}}]
  split: [{subset: "", replicas: 3}]
`

// hubWithAgents is a server with the hub's manifests, a slice, and ClusterRole flotilla-agent bound in
// the slice's namespace: to a group as an add-on has it, and to a ServiceAccount as in docs/install.md.
func hubWithAgents(t *testing.T) (*testkit.Server, client.Client) {
	t.Helper()
	server := testkit.Start(t)
	admin := accessOf(t, server, "")
	applyAll(t, admin, build(t, filepath.Join(testkit.Root(), "kustomize", "hub")))
	ensureNamespace(t, admin, "east")
	slice := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fleetSlice), &slice.Object); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "east", Name: "flotilla-agent"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "flotilla-agent"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: addOnGroup},
			{Kind: rbacv1.ServiceAccountKind, Namespace: "east", Name: "flotilla-agent"},
		},
	}
	for _, obj := range []client.Object{slice, binding} {
		if err := admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	return server, admin
}

const (
	addOnGroup = "system:open-cluster-management:cluster:east:addon:flotilla"
	addOnUser  = addOnGroup + ":agent:flotilla-agent"
	saUser     = "system:serviceaccount:east:flotilla-agent"
)

func accessOf(t *testing.T, server *testkit.Server, user string, groups ...string) client.Client {
	t.Helper()
	cfg := server.Config
	if user != "" {
		cfg = server.UserFor(t, user, groups...)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func named(apiVersion, kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace("east")
	obj.SetName(name)
	return obj
}

func sliceNamed() *unstructured.Unstructured {
	return named("fleet.kruise.io/v1alpha1", "FleetSlice", "web")
}

func merge(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

// changes are what nobody but the hub may make of a slice, by the field that the refusal names.
var changes = []struct{ field, body string }{
	{"spec", `{"spec":{"split":[{"subset":"","replicas":300}]}}`},
	{"spec", `{"spec":{"objects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"k":"w","list":"1"}}]}}`},
	{"metadata.labels", `{"metadata":{"labels":{"fleet.kruise.io/source-uid":"v"}}}`},
	{"metadata.labels", `{"metadata":{"labels":null}}`},
	{"metadata.annotations", `{"metadata":{"annotations":{"internal.fleet.kruise.io/held":"{}"}}}`},
	{"metadata.annotations", `{"metadata":{"annotations":null}}`},
	{"metadata.ownerReferences", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}}`},
	{"metadata.finalizers", `{"metadata":{"finalizers":["fleet.kruise.io/member-cleanup"]}}`},
	{"metadata.finalizers", `{"metadata":{"finalizers":["example.com/other","fleet.kruise.io/member-cleanup","example.com/more"]}}`},
}

// TestAgentsChangeNothingButTheirFinalizer: an agent reports and lets its slice go, and all else of the
// slice is the hub's alone.
func TestAgentsChangeNothingButTheirFinalizer(t *testing.T) {
	server, admin := hubWithAgents(t)
	agents := map[string]client.Client{
		"add-on":          accessOf(t, server, addOnUser, addOnGroup),
		"service account": accessOf(t, server, saUser, "system:serviceaccounts", "system:serviceaccounts:east"),
	}
	untilEnforced(t, agents["add-on"])
	for name, agent := range agents {
		for _, change := range changes {
			err := agent.Patch(t.Context(), sliceNamed(), merge(change.body))
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), change.field+": a member's agent") {
				t.Errorf("%s: %s: %v", name, change.body, err)
			}
		}
		if err := agent.Status().Patch(t.Context(), sliceNamed(), merge(`{"status":{"observedGeneration":1},"spec":{"epoch":7}}`)); err != nil {
			t.Errorf("%s may not report: %v", name, err)
		}
	}
	hub := accessOf(t, server, "system:serviceaccount:"+namespace+":flotilla-hub")
	for _, change := range changes[:6] {
		if err := hub.Patch(t.Context(), sliceNamed(), merge(change.body)); err != nil {
			t.Errorf("the hub: %s: %v", change.body, err)
		}
	}
	if err := agents["add-on"].Patch(t.Context(), sliceNamed(), merge(`{"metadata":{"finalizers":["example.com/other"]}}`)); err != nil {
		t.Errorf("the agent may not let its slice go: %v", err)
	}
	live := sliceNamed()
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	if epoch, _, _ := unstructured.NestedInt64(live.Object, "spec", "epoch"); epoch != 1 || len(live.GetFinalizers()) != 1 {
		t.Errorf("the slice is %v", live.Object)
	}
}

// untilEnforced waits until the policy is in force: the server reads policies a little after they are made.
func untilEnforced(t *testing.T, agent client.Client) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := agent.Patch(ctx, sliceNamed(), merge(`{"metadata":{"annotations":{"probe":"`+time.Now().String()+`"}}}`))
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "metadata.annotations") {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("the policy is not in force: %v", err)
	}
}

// TestAgentsRenewTheirLeaseAlone: of Leases an agent reads and renews its own, and it deletes nothing.
func TestAgentsRenewTheirLeaseAlone(t *testing.T) {
	server, admin := hubWithAgents(t)
	agent := accessOf(t, server, addOnUser, addOnGroup)
	lease := func(name string) *unstructured.Unstructured { return named("coordination.k8s.io/v1", "Lease", name) }
	if err := agent.Create(t.Context(), lease("flotilla")); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), lease("managed-cluster-lease")); err != nil {
		t.Fatal(err)
	}
	renewal := merge(`{"spec":{"renewTime":"2030-01-01T00:00:00.000000Z"}}`)
	if err := agent.Patch(t.Context(), lease("flotilla"), renewal); err != nil {
		t.Error(err)
	}
	if err := agent.Get(t.Context(), client.ObjectKey{Namespace: "east", Name: "flotilla"}, lease("")); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"another Lease": agent.Patch(t.Context(), lease("managed-cluster-lease"), renewal),
		"deletion":      agent.Delete(t.Context(), sliceNamed()),
		"another's":     agent.Patch(t.Context(), &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fleet.kruise.io/v1alpha1", "kind": "FleetSlice", "metadata": map[string]any{"name": "web", "namespace": "west"}}}, merge(`{}`)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
