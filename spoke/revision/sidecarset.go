// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"encoding/json"
	"fmt"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// sidecarFields are the fields of a SidecarSet's spec that its revisions hold: what is put into pods.
var sidecarFields = []string{"containers", "imagePullSecrets", "initContainers", "patchPodMetadata", "volumes"}

// SidecarSetPayload serialises what a SidecarSet puts into pods as a revision's data. Each of its fields
// is there, null where the set has none. It fails only on a spec that JSON cannot hold.
func SidecarSetPayload(set *appsv1beta1.SidecarSet) ([]byte, error) {
	raw, err := json.Marshal(&set.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	nullClaimTimestamps(all["volumes"])
	spec := map[string]any{"$patch": "replace"}
	for _, field := range sidecarFields {
		spec[field] = all[field]
	}
	return json.Marshal(map[string]any{"spec": spec})
}
