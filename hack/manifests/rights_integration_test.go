// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-sh/flotilla/internal/testkit"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// read makes the objects of one kind typed.
func read[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var out []T
	for _, obj := range objects {
		if obj.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &typed); err != nil {
			t.Fatal(err)
		}
		out = append(out, typed)
	}
	if len(out) == 0 {
		t.Fatalf("there is no %s", kind)
	}
	return out
}

// TestDeletionsAreNotHeldUp: while our webhooks are down, objects and namespaces can be deleted that do not ask for
// protection, and all that is in the namespace of the system and in our own.
func TestDeletionsAreNotHeldUp(t *testing.T) {
	const system, ours = "kube-system", "flotilla-system"
	for dir, tc := range map[string]struct {
		asked int
		free  string
	}{
		"hub": {}, "spoke": {11, system + "," + ours}, "overlays/dev/member": {11, system + "," + ours},
		"overlays/from-openkruise": {11, system + "," + ours + ",kruise-system"},
	} {
		asked := 0
		objects := build(t, filepath.Join(testkit.Root(), "kustomize", dir))
		for _, cfg := range read[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration") {
			for _, hook := range cfg.Webhooks {
				if !slices.ContainsFunc(hook.Rules, ofDeletions) {
					continue
				}
				asked++
				if hook.Name == "vpod.kb.io" { // a budget protects the pod by an annotation, which no selector sees
					if len(hook.MatchConditions) == 0 || !strings.Contains(hook.MatchConditions[0].Expression, "pub.kruise.io/related-pub") {
						t.Errorf("%s: %s is asked about deletions of all pods", dir, hook.Name)
					}
				} else if metav1.FormatLabelSelector(hook.ObjectSelector) != "policy.kruise.io/delete-protection" || len(hook.Rules) != 1 || len(hook.Rules[0].Operations) != 1 {
					t.Errorf("%s: %s is asked about deletions of all objects", dir, hook.Name)
				}
				values := strings.Split(tc.free, ",")
				slices.Sort(values)
				want := "kubernetes.io/metadata.name notin (" + strings.Join(values, ",") + ")"
				if hook.Name == "vcustomresourcedefinition.kb.io" { // is in no namespace
					want = "<none>"
				}
				if got := metav1.FormatLabelSelector(hook.NamespaceSelector); got != want {
					t.Errorf("%s: %s is asked about namespaces %s, want %s", dir, hook.Name, got, want)
				}
			}
		}
		if asked != tc.asked {
			t.Errorf("%s: %d webhooks are asked about deletions", dir, asked)
		}
	}
}

func ofDeletions(rule admissionv1.RuleWithOperations) bool {
	return slices.Contains(rule.Operations, admissionv1.Delete) || slices.Contains(rule.Operations, admissionv1.OperationAll)
}

const namespace = "flotilla-system"

// TestKeeperHasItsRights: with no right but those of its manifests, a component leads, keeps its
// certificates, and tells every webhook and every CRD that is converted of them.
func TestKeeperHasItsRights(t *testing.T) {
	server := testkit.Start(t)
	admin, err := client.New(server.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, component := range []string{"flotilla-hub", "flotilla-spoke"} {
		objects := build(t, filepath.Join(testkit.Root(), "kustomize", component[len("flotilla-"):]))
		applyAll(t, admin, objects)
		keep(t, server.UserFor(t, "system:serviceaccount:"+namespace+":"+component), component)
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
			err = errors.Join(isLed(ctx, admin, component), areTold(ctx, admin, objects))
			return err == nil, nil
		})
		if err != nil {
			t.Fatal(component, err)
		}
	}
}

// keep runs the webhook keeper until the test ends.
func keep(t *testing.T, cfg *rest.Config, component string) {
	t.Helper()
	hooks := webhookserver.NewOptions(component, namespace)
	mgr, err := manager.New(cfg, manager.Options{
		Cache:          cache.Options{ByObject: hooks.ByObject()},
		Client:         client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		LeaderElection: true, LeaderElectionID: component, LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hooks.AddKeeper(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// isLed tells whether the component holds its Lease.
func isLed(ctx context.Context, c client.Client, component string) error {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: component}, lease)
	if err == nil && lease.Spec.HolderIdentity == nil {
		err = errors.New("nobody leads")
	}
	return err
}

// areTold tells whether there is a CA in all webhooks and conversions.
func areTold(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	var errs []error
	told := 0
	check := func(obj *unstructured.Unstructured, clientConfig any) {
		fields, _ := clientConfig.(map[string]any)
		if ca, _ := fields["caBundle"].(string); ca == "" {
			errs = append(errs, fmt.Errorf("%s %s has no CA", obj.GetKind(), obj.GetName()))
		}
		told++
	}
	for _, obj := range objects {
		live := obj.DeepCopy()
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return err
		}
		hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks")
		for _, hook := range hooks {
			check(live, hook.(map[string]any)["clientConfig"])
		}
		if strategy, _, _ := unstructured.NestedString(live.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
			fields, _, _ := unstructured.NestedMap(live.Object, "spec", "conversion", "webhook", "clientConfig")
			check(live, fields)
		}
	}
	if told == 0 {
		return errors.New("nothing is to be told")
	}
	return errors.Join(errs...)
}
