// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// TestProcessesAreLeftReachable: where a spoke runs as a process and is called by url, what is applied beside it
// takes the url from no webhook, however often and in whichever way.
func TestProcessesAreLeftReachable(t *testing.T) {
	server := testkit.Start(t)
	admin, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects := build(t, filepath.Join(testkit.Root(), "kustomize", "spoke"))
	applyAll(t, admin, objects)
	run(t, server, "spoke")
	works := func() {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			if err = areTold(ctx, admin, objects); err == nil {
				err = client.NewDryRunClient(admin).Create(ctx, cloneSet("v1alpha1")(0))
			}
			return err == nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	works()
	manifests := asList(t, build(t, filepath.Join(testkit.Root(), "kustomize", "overlays", "e2e", "member")))
	for _, args := range [][]string{{"apply", "-f", "-"}, {"apply", "-f", "-"}, {"apply", "--server-side", "-f", "-"}, {"apply", "--server-side", "-f", "-"}} {
		kubectl(t, server.Kubeconfig(t), manifests, args...)
		if err := client.NewDryRunClient(admin).Create(t.Context(), cloneSet("v1alpha1")(0)); err != nil {
			t.Errorf("after kubectl %v: %v", args, err)
		}
	}
	works()
}

// asList makes one JSON document of objects, in the order in which they are to be applied.
func asList(t *testing.T, objects []*unstructured.Unstructured) []byte {
	t.Helper()
	var items []any
	for _, obj := range inOrder(objects) {
		items = append(items, obj.Object)
	}
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kubectl runs kubectl, and wants it to succeed.
func kubectl(t *testing.T, kubeconfig string, stdin []byte, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testkit.Program("kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}
