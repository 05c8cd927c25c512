// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const agentAccount = "flotilla-nodeagent"

// TestAgentsReachTheirNodeAlone: with the manifests of the node agent and a token as the kubelet gets it for the agent's
// pod, an agent writes the statuses of its own node's objects. Every other write is denied, and so is every Secret but
// those it is to read.
func TestAgentsReachTheirNodeAlone(t *testing.T) {
	server := testkit.Start(t)
	admin, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	applyAll(t, admin, build(t, filepath.Join(testkit.Root(), "kustomize", "nodeagent")))
	for _, node := range []string{"node-1", "node-2"} {
		create(t, admin, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		create(t, admin, ours("NodeImage", "", node, nil))
		create(t, admin, ours("NodePodProbe", "", node, nil))
		create(t, admin, ours("ContainerRecreateRequest", "default", node, map[string]any{"crr.apps.kruise.io/node-name": node}))
		create(t, admin, podOn(node, "default", "web-"+node))
	}
	create(t, admin, ours("ContainerRecreateRequest", "default", "unlabelled", nil))
	create(t, admin, podOn("", "default", "web-pending"))
	for _, ns := range []string{"default", "kruise-daemon-config"} {
		create(t, admin, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}})
	}
	one := agentOn(t, server, admin, "node-1")
	unbound := withToken(t, server, admin, agentAccount, nil)
	eventuallyDenied(t, one, ours("NodeImage", "", "node-2", nil))

	for name, tc := range map[string]struct {
		as   client.Client
		do   func(client.Client) error
		says string // "": it may
	}{
		"its NodeImage":          {one, status(ours("NodeImage", "", "node-1", nil)), ""},
		"its NodePodProbe":       {one, status(ours("NodePodProbe", "", "node-1", nil)), ""},
		"its request":            {one, status(ours("ContainerRecreateRequest", "default", "node-1", nil)), ""},
		"its pod":                {one, podStatus("web-node-1"), ""},
		"another's NodeImage":    {one, status(ours("NodeImage", "", "node-2", nil)), "the node agent of node-1 must not write what belongs to node-2"},
		"another's NodePodProbe": {one, status(ours("NodePodProbe", "", "node-2", nil)), "must not write what belongs to node-2"},
		"another's request":      {one, status(ours("ContainerRecreateRequest", "default", "node-2", nil)), "must not write what belongs to node-2"},
		"nobody's request":       {one, status(ours("ContainerRecreateRequest", "default", "unlabelled", nil)), "must not write what belongs to no node"},
		"another's pod":          {one, podStatus("web-node-2"), "must not write what belongs to node-2"},
		"a pod on no node":       {one, podStatus("web-pending"), "must not write what belongs to no node"},
		"a token of no node":     {unbound, status(ours("NodeImage", "", "node-1", nil)), "names no node"},
		"the spec of its own":    {one, patchOf(ours("NodeImage", "", "node-1", nil), `{"spec":{"images":{}}}`), "cannot patch resource"},
		"labels of its pod":      {one, patchOf(typeless("v1", "Pod", "default", "web-node-1"), `{"metadata":{"labels":{"a":"b"}}}`), "cannot patch resource"},
		"a Secret of a user":     {one, read1("default"), "cannot get resource"},
		"a pull secret, by name": {one, read1("kruise-daemon-config"), ""},
		"all pull secrets (KD-05)": {one, func(c client.Client) error {
			return c.List(context.Background(), &corev1.SecretList{}, client.InNamespace("kruise-daemon-config"))
		}, "cannot list resource"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.do(tc.as)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("denied: %v", err)
			case tc.says != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want a denial that says %q", err, tc.says)
			}
		})
	}
	// Rights to these objects that the agents were given beside are of no use to them.
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Rules: []rbacv1.PolicyRule{rule("apps.kruise.io", "*", "*")}})
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "more"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: agentAccount}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "more"},
	})
	eventually(t, func(context.Context) error {
		err := patchOf(ours("NodeImage", "", "node-1", nil), `{"spec":{"images":{"a":{"tags":[]}}}}`)(one)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a node agent writes statuses and nothing else") {
			return fmt.Errorf("got %w, want a denial by the policy", err)
		}
		return nil
	})
	if err := one.Delete(t.Context(), ours("NodeImage", "", "node-1", nil)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a node agent writes statuses and nothing else") {
		t.Errorf("its NodeImage is deleted: %v", err)
	}
}

func create(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(context.Background(), obj); err != nil {
		t.Fatalf("%T %s: %v", obj, obj.GetName(), err)
	}
}

func typeless(version, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func ours(kind, namespace, name string, labels map[string]any) *unstructured.Unstructured {
	version := "v1beta1"
	if kind == "NodePodProbe" {
		version = "v1alpha1"
	}
	u := typeless("apps.kruise.io/"+version, kind, namespace, name)
	if labels != nil {
		u.Object["metadata"].(map[string]any)["labels"] = labels
	}
	if kind == "ContainerRecreateRequest" {
		u.Object["spec"] = map[string]any{"podName": "web", "containers": []any{map[string]any{"name": "c"}}}
	}
	return u
}

func podOn(node, namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: node, ServiceAccountName: "default", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// agentOn is the access of the agent whose pod is on a node.
func agentOn(t *testing.T, server *testkit.Server, admin client.Client, node string) client.Client {
	t.Helper()
	pod := podOn(node, namespace, "agent-"+node)
	pod.Spec.ServiceAccountName = agentAccount
	create(t, admin, pod)
	return withToken(t, server, admin, agentAccount, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID})
}

// withToken is the access of an account of ours by a token that is bound to an object, if any.
func withToken(t *testing.T, server *testkit.Server, admin client.Client, account string, bound *authenticationv1.BoundObjectReference) client.Client {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound, ExpirationSeconds: ptr.To[int64](3600)}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := admin.SubResource("token").Create(context.Background(), owner, request); err != nil {
		t.Fatal(err)
	}
	cfg := rest.AnonymousClientConfig(server.Config)
	cfg.BearerToken = request.Status.Token
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eventuallyDenied waits until the API server acts by the policy.
func eventuallyDenied(t *testing.T, c client.Client, obj *unstructured.Unstructured) {
	t.Helper()
	for range 200 {
		if apierrors.IsForbidden(status(obj.DeepCopy())(c)) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the policy is not in force after 20 s")
}

func status(obj *unstructured.Unstructured) func(client.Client) error {
	return func(c client.Client) error {
		return c.Status().Patch(context.Background(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{}}`)))
	}
}

func podStatus(name string) func(client.Client) error {
	return func(c client.Client) error {
		patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"metadata":{"annotations":{"apps.kruise.io/runtime-containers-meta":"{}"}}}`))
		return c.Status().Patch(context.Background(), typeless("v1", "Pod", "default", name), patch)
	}
}

func patchOf(obj *unstructured.Unstructured, patch string) func(client.Client) error {
	return func(c client.Client) error {
		return c.Patch(context.Background(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}

func read1(namespace string) func(client.Client) error {
	return func(c client.Client) error {
		return c.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "s"}, &corev1.Secret{})
	}
}
