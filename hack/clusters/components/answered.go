// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answered waits until the plane's API server reaches the webhooks of the program that has just started, admission and
// conversion: of whom to trust there it hears a moment after the program has told.
func (b *built) answered(ctx context.Context, plane string) error {
	c, err := clientOf(b.Cluster, plane)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = c.Create(ctx, probe(), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("the API server of %s does not reach the webhooks: %w", plane, last)
	}
	return err
}

// probe is an object that is not stored in the version it is written in.
func probe() *unstructured.Unstructured {
	labels := map[string]any{"app": "probe"}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{"generateName": "probe-", "namespace": "default"},
		"spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "probe", "image": "probe"}}},
			},
		},
	}}
}
