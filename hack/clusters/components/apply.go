// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/hack/clusters/controlplane"
	"github.com/flotilla-sh/flotilla/hack/clusters/state"
)

// owner of the fields that are applied.
const owner = "flotilla-clusters"

func clientOf(c *state.Cluster, plane string) (client.Client, error) {
	config, err := controlplane.RESTConfig(c, plane)
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
}

// apply applies the objects in order and waits until the kinds they define are served.
func apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, u := range objects {
		// A kind just defined, or a namespace just made, may be unknown for a moment.
		err := retry(ctx, func() error {
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner(owner), client.ForceOwnership)
		})
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	for _, u := range objects {
		if u.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := retry(ctx, func() error { return established(ctx, c, u) }); err != nil {
			return err
		}
	}
	return nil
}

// retry repeats f for up to ten seconds while the kind is not known or the server says it will be ready soon.
func retry(ctx context.Context, f func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		last = f()
		if meta.IsNoMatchError(last) || errors.Is(last, errNotYet) {
			return false, nil
		}
		return last == nil, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

var errNotYet = errors.New("not served yet")

// established returns errNotYet until the API server serves the CRD's kind.
func established(ctx context.Context, c client.Client, crd *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(crd.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
		return err
	}
	status, _, err := unstructured.NestedMap(live.Object, "status")
	conditions, _ := status["conditions"].([]any) // null until the API server has seen the definition
	if err != nil {
		return err
	}
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s: %w", crd.GetName(), errNotYet)
}
