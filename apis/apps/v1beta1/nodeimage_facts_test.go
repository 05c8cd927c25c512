// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImageHolders(t *testing.T) {
	node := func(images map[string]ImageStatus) NodeImage {
		return NodeImage{Status: NodeImageStatus{ImageStatuses: images}}
	}
	one := ImageTagStatus{Tag: "1", Phase: ImagePhaseSucceeded, ImageID: "a@sha256:x"}
	same := ImageTagStatus{Tag: "latest", Phase: ImagePhaseSucceeded, ImageID: "a@sha256:x"}
	failed := ImageTagStatus{Tag: "2", Phase: ImagePhaseFailed, ImageID: "a@sha256:y"}
	digest := ImageTagStatus{Tag: "sha256:z", Phase: ImagePhaseSucceeded}
	byID, byName := ImageHolders([]NodeImage{
		node(map[string]ImageStatus{"a": {Tags: []ImageTagStatus{one, same, failed}}, "b": {Tags: []ImageTagStatus{digest}}}),
		node(map[string]ImageStatus{"a": {Tags: []ImageTagStatus{one}}}),
		node(nil),
	})
	if diff := cmp.Diff(map[string]int32{"a@sha256:x": 2}, byID); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int32{"a:1": 2, "a:latest": 1, "b@sha256:z": 1}, byName); diff != "" {
		t.Error(diff)
	}
}
