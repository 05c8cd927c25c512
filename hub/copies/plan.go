// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-sh/flotilla/hub/share"
)

// Divider copies objects.
type Divider struct{}

// Divide makes the plan: one whole copy a cluster.
func (Divider) Divide(req share.Request) (share.Plan, error) {
	var plan share.Plan
	for _, c := range req.Clusters {
		plan.Slices = append(plan.Slices, share.Slice{Cluster: c.Name, Object: c.Object})
	}
	return plan, nil
}

// Status leaves the object's status alone.
func (Divider) Status(*unstructured.Unstructured, share.Summary) (map[string]any, error) {
	return nil, nil
}
