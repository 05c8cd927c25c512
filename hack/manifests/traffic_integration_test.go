// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package manifests

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/testkit"
)

// call is one request of a user.
type call struct {
	what  string
	at    time.Time
	took  time.Duration
	err   error
	actor int
	// bare is set of a pod that was made without what our webhook puts into each.
	bare bool
}

// caller is users who write without a pause.
type caller struct {
	t     *testing.T
	mu    sync.Mutex
	calls []call
}

// traffic makes and changes pods, and workloads in both versions, until the test ends.
func traffic(t *testing.T, server *testkit.Server) *caller {
	t.Helper()
	c := &caller{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for actor, make := range []func(n int) *unstructured.Unstructured{pod, cloneSet("v1beta1"), cloneSet("v1alpha1")} {
		user, err := client.New(server.ConfigFor("user"), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c.life(ctx, user, actor, make(n))
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return c
}

// life makes an object, changes it and deletes it.
func (c *caller) life(ctx context.Context, user client.Client, actor int, obj *unstructured.Unstructured) {
	what := obj.GetAPIVersion() + " " + obj.GetKind()
	if !c.call(ctx, actor, "create "+what, func() error { return user.Create(ctx, obj) }) {
		return
	}
	if obj.GetKind() == "Pod" && !passed(obj) {
		c.bare(actor)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"changed":"yes"}}}`))
	c.call(ctx, actor, "update "+what, func() error { return user.Patch(ctx, obj, patch) })
	c.call(ctx, actor, "delete "+what, func() error { return user.Delete(ctx, obj, client.GracePeriodSeconds(0)) })
}

func (c *caller) call(ctx context.Context, actor int, what string, do func() error) bool {
	began := time.Now()
	err := do()
	if ctx.Err() != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call{what: what, at: began, took: time.Since(began), err: err, actor: actor})
	return err == nil
}

// bare marks a user's last call.
func (c *caller) bare(actor int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, call := range slices.Backward(c.calls) {
		if call.actor == actor {
			c.calls[i].bare = true
			return
		}
	}
}

// passed tells whether a pod passed our webhook, where gate KruisePodReadinessGate is on.
func passed(pod *unstructured.Unstructured) bool {
	gates, _, _ := unstructured.NestedSlice(pod.Object, "spec", "readinessGates")
	return slices.ContainsFunc(gates, func(g any) bool { return g.(map[string]any)["conditionType"] == "KruisePodReady" })
}

// settle waits until the API server sends new pods to our webhook, or does no more: it learns of changes late.
func (c *caller) settle(ofPods bool) {
	c.t.Helper()
	began := time.Now()
	err := wait.PollUntilContextTimeout(c.t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, call := range slices.Backward(c.calls) {
			if call.at.After(began) && call.what == "create v1 Pod" && call.err == nil {
				return call.bare != ofPods, nil
			}
		}
		return false, nil
	})
	if err != nil {
		c.t.Fatalf("not so: new pods pass our webhook: %v", ofPods)
	}
}

// unasked returns how many pods were made without our webhook from a moment on, and the longest time in which all were.
func (c *caller) unasked(moment time.Time) (pods int, gap time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var since time.Time
	for _, call := range c.calls {
		switch {
		case call.at.Before(moment) || call.what != "create v1 Pod" || call.err != nil:
		case !call.bare:
			since = time.Time{}
		default:
			pods++
			if since.IsZero() {
				since = call.at
			}
			gap = max(gap, call.at.Add(call.took).Sub(since))
		}
	}
	return pods, gap
}

// forget drops what was called so far.
func (c *caller) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// warm waits until every user made some calls from now on.
func (c *caller) warm() {
	c.t.Helper()
	began := time.Now()
	err := wait.PollUntilContextTimeout(c.t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		_, _, _, made := c.since(began)
		c.mu.Lock()
		defer c.mu.Unlock()
		actors := map[int]int{}
		for _, call := range c.calls {
			if call.at.After(began) {
				actors[call.actor]++
			}
		}
		return made >= 30 && len(actors) == 3, nil
	})
	if err != nil {
		c.t.Fatal("users make no calls")
	}
}

// since returns the calls that failed from a moment on, the longest time in which a user had no success though
// calls failed, the slowest call, and how many were made.
func (c *caller) since(moment time.Time) (failed []call, gap, slowest time.Duration, made int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := map[int]time.Time{} // of each user, when the failing began
	for _, call := range c.calls {
		if call.at.Before(moment) {
			continue
		}
		made++
		slowest = max(slowest, call.took)
		if call.err == nil {
			delete(since, call.actor)
			continue
		}
		failed = append(failed, call)
		if since[call.actor].IsZero() {
			since[call.actor] = call.at
		}
		gap = max(gap, call.at.Add(call.took).Sub(since[call.actor]))
	}
	return failed, gap, slowest, made
}

func pod(n int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": fmt.Sprintf("pod-%d", n), "namespace": "default"},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "a", "image": "i"}}},
	}}
}

func cloneSet(version string) func(int) *unstructured.Unstructured {
	labels := map[string]any{"app": "a"}
	return func(n int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps.kruise.io/" + version, "kind": "CloneSet",
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", version, n), "namespace": "default"},
			"spec": map[string]any{
				"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "a", "image": "i"}}},
				},
			},
		}}
	}
}
