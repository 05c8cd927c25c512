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

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

const (
	onlyMarkers = "make a PodProbeMarker in the namespace of the pods, and the spoke writes this"
	onlyAgents  = "may be changed only by who may patch pods/status in all namespaces"
	evil        = `[{"name":"db","namespace":"bank","uid":"u","IP":"","probes":[{"name":"m#p","containerName":"c","probe":{"exec":{"command":["sh"]}}}]}]`
	forged      = `{"status":{"podProbeStatuses":[{"name":"db","namespace":"bank","uid":"u","probeStates":[{"name":"m#p","state":"Failed"}]}]}}`
)

// TestNodePodProbesGiveNoRights: with the manifests of a member, whoever may write NodePodProbes gets no command run and
// no pod marked by it, in whatever way it is written, that the writer could not have by rights of his own.
func TestNodePodProbesGiveNoRights(t *testing.T) {
	server := testkit.Start(t)
	admin := accessOf(t, server, "")
	applyAll(t, admin, build(t, filepath.Join(testkit.Root(), "kustomize", "overlays", "e2e", "member")))
	create(t, admin, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	everything := rule("apps.kruise.io", "*", "nodepodprobes", "nodepodprobes/status")
	markers := rule("apps.kruise.io", "create", "podprobemarkers")
	attacker := userWith(t, server, admin, "attacker", everything)
	inNamespace(t, admin, "attacker", markers)
	attack(t, admin, attacker)
	spoke := withToken(t, server, admin, "flotilla-spoke", nil)
	t.Run("large", func(t *testing.T) { // what a rule may cost is no matter of how much is asked for
		if err := spoke.Create(t.Context(), asking("large", 500)); err != nil {
			t.Error(err)
		}
	})

	daemon := userWith(t, server, admin, "daemon", rule("apps.kruise.io", "update,patch,get", "nodepodprobes/status"), rule("", "patch", "pods/status"))
	for name, may := range map[string]struct{ ask, report client.Client }{
		"administrator":            {admin, admin},
		"spoke":                    {spoke, nil},
		"author of all markers":    {userWith(t, server, admin, "author", everything, markers), nil},
		"agent of the node":        {nil, agentOn(t, server, admin, "node-1")},
		"agent of another project": {nil, daemon},
	} {
		t.Run(name, func(t *testing.T) {
			remake(t, admin)
			if may.ask != nil {
				if err := may.ask.Patch(t.Context(), nodeProbes("node-1"), merge(`{"spec":{"podProbes":`+evil+`}}`)); err != nil {
					t.Errorf("may not ask: %v", err)
				}
			}
			if may.report != nil {
				if err := may.report.Status().Patch(t.Context(), nodeProbes("node-1"), merge(forged)); err != nil {
					t.Errorf("may not report: %v", err)
				}
			}
		})
	}
	t.Run("spoke in the namespace of OpenKruise", func(t *testing.T) {
		for _, obj := range build(t, filepath.Join(testkit.Root(), "kustomize", "overlays", "from-openkruise")) {
			if obj.GetKind() == "ClusterRoleBinding" {
				applyAll(t, admin, []*unstructured.Unstructured{obj})
			}
		}
		moved := accessOf(t, server, "system:serviceaccount:kruise-system:flotilla-spoke")
		remake(t, admin)
		eventually(t, func(ctx context.Context) error {
			return moved.Patch(ctx, nodeProbes("node-1"), merge(`{"spec":{"podProbes":`+evil+`}}`))
		})
	})
}

// attack tries all ways in which a NodePodProbe is written.
func attack(t *testing.T, admin, attacker client.Client) {
	t.Helper()
	remake(t, admin)
	eventuallyRefused(t, attacker, nodeProbes("node-1"))
	live := nodeProbes("node-1")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	changed := live.DeepCopy()
	changed.Object["spec"] = asking("", 2).Object["spec"]
	patched := func(kind types.PatchType, body string) error {
		return attacker.Patch(t.Context(), nodeProbes("node-1"), client.RawPatch(kind, []byte(body)))
	}
	reported := func(body string) error {
		return attacker.Status().Patch(t.Context(), nodeProbes("node-1"), merge(body))
	}
	applied := func(obj *unstructured.Unstructured) error {
		return attacker.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("attacker"), client.ForceOwnership)
	}
	for _, tc := range []struct {
		what string
		err  error
		says string // "": it may
	}{
		{"create", attacker.Create(t.Context(), asking("node-2", 1)), onlyMarkers},
		{"update", attacker.Update(t.Context(), changed), onlyMarkers},
		{"merge patch", patched(types.MergePatchType, `{"spec":{"podProbes":`+evil+`}}`), onlyMarkers},
		{"JSON patch", patched(types.JSONPatchType, `[{"op":"replace","path":"/spec/podProbes/0/probes/0/probe/exec/command","value":["sh"]}]`), onlyMarkers},
		{"apply", applied(asking("node-1", 2)), onlyMarkers},
		{"apply what is not there", applied(asking("node-2", 1)), onlyMarkers},
		{"take away", patched(types.MergePatchType, `{"spec":null}`), onlyMarkers},
		{"results", reported(forged), onlyAgents},
		{"no results", reported(`{"status":null}`), onlyAgents},

		{"the same again", attacker.Update(t.Context(), live.DeepCopy()), ""},
		{"a label", patched(types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		{"results by way of the object", patched(types.MergePatchType, forged), ""},
		{"probes by way of the status", reported(`{"spec":{"podProbes":` + evil + `}}`), ""},
		{"one that asks for nothing", attacker.Create(t.Context(), nodeProbes("node-3")), ""},
	} {
		switch {
		case tc.says == "" && tc.err != nil:
			t.Errorf("%s: refused: %v", tc.what, tc.err)
		case tc.says != "" && (!apierrors.IsForbidden(tc.err) || !strings.Contains(tc.err.Error(), tc.says)):
			t.Errorf("%s: got %v, want a refusal that says %q", tc.what, tc.err, tc.says)
		}
	}
	after := nodeProbes("node-1")
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(after), after); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(after.Object["spec"], after.Object["status"]), fmt.Sprint(live.Object["spec"], live.Object["status"]); got != want {
		t.Errorf("it has become %s, was %s", got, want)
	}
}

func nodeProbes(name string) *unstructured.Unstructured { return ours("NodePodProbe", "", name, nil) }

// remake makes the object of node-1 anew, with a probe and a result.
func remake(t *testing.T, admin client.Client) {
	t.Helper()
	if err := client.IgnoreNotFound(admin.Delete(t.Context(), nodeProbes("node-1"))); err != nil {
		t.Fatal(err)
	}
	create(t, admin, asking("node-1", 1))
	body := `{"status":{"podProbeStatuses":[{"name":"web-0","namespace":"default","uid":"web-0","probeStates":[{"name":"m#p","state":"Succeeded"}]}]}}`
	if err := admin.Status().Patch(t.Context(), nodeProbes("node-1"), merge(body)); err != nil {
		t.Fatal(err)
	}
}

// asking is an object that asks for three probes in each of some pods.
func asking(node string, pods int) *unstructured.Unstructured {
	var entries []any
	for i := range pods {
		var probes []any
		for _, name := range []string{"m#p", "m#q", "n#p"} {
			probe := map[string]any{"exec": map[string]any{"command": []any{"true"}}, "periodSeconds": int64(10)}
			probes = append(probes, map[string]any{"name": name, "containerName": "c", "probe": probe})
		}
		name := fmt.Sprint("web-", i)
		entries = append(entries, map[string]any{"name": name, "namespace": "default", "uid": name, "IP": "", "probes": probes})
	}
	obj := nodeProbes(node)
	obj.Object["spec"] = map[string]any{"podProbes": entries}
	return obj
}

func rule(group, verbs string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: strings.Split(verbs, ","), Resources: resources}
}

// userWith is the access of a user with rights in all namespaces.
func userWith(t *testing.T, server *testkit.Server, admin client.Client, name string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	create(t, admin, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
	return accessOf(t, server, name)
}

// inNamespace gives a user rights in one namespace.
func inNamespace(t *testing.T, admin client.Client, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	create(t, admin, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
	create(t, admin, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	})
}

// eventuallyRefused waits until the API server acts by the policy.
func eventuallyRefused(t *testing.T, attacker client.Client, obj *unstructured.Unstructured) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		err := attacker.Patch(ctx, obj.DeepCopy(), merge(`{"spec":{"podProbes":[]}}`), client.DryRunAll)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), onlyMarkers) {
			return nil
		}
		return fmt.Errorf("not refused by the policy: %w", err)
	})
}

func eventually(t *testing.T, do func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		err := do(ctx)
		if err == nil || !strings.Contains(err.Error(), "would exceed context deadline") { // that says nothing
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(last)
	}
}
