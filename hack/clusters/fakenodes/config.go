// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// kwokConfig is kwok's configuration file for a member with so many nodes: its options, then the stages.
func kwokConfig(nodes int) ([]byte, error) {
	options := map[string]any{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1",
		"kind":       "KwokConfiguration",
		"options": map[string]any{
			"enableCRDs":                []string{},
			"manageAllNodes":            false,
			"nodeLeaseDurationSeconds":  leaseSeconds(nodes),
			"nodeLeaseParallelism":      4,
			"nodePlayStageParallelism":  4,
			"podPlayStageParallelism":   16,
			"podsOnNodeSyncParallelism": 4,
		},
	}
	head, err := yaml.Marshal(options)
	if err != nil {
		return nil, err
	}
	docs, err := stages()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(head, "%s", docs), nil
}

// leaseSeconds is how long node leases last; kwok renews them after a quarter. A node counts as gone after 50 s without
// renewal, so many nodes renew more seldom, but soon enough.
func leaseSeconds(nodes int) int {
	if nodes > 100 {
		return 120
	}
	return 40
}
