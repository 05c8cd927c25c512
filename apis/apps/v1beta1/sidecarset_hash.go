// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// SidecarSetHashes returns the values of SidecarSetHashAnnotation and SidecarSetHashWithoutImageAnnotation for
// the containers of a SidecarSet. They are OpenKruise's, byte for byte, for containers filled as admission
// fills them: init containers count, all of them, once one is a native sidecar. Both versions have the same.
func SidecarSetHashes(initContainers, containers []SidecarContainer) (hash, withoutImage string, err error) {
	if hash, err = sidecarHash(initContainers, containers); err != nil {
		return "", "", err
	}
	withoutImage, err = sidecarHash(blanked(initContainers), blanked(containers))
	return hash, withoutImage, err
}

func sidecarHash(initContainers, containers []SidecarContainer) (string, error) {
	content := map[string]any{"containers": containers}
	for i := range initContainers {
		if policy := initContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			content["initContainers"] = initContainers
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return rand.SafeEncodeString(hex.EncodeToString(sum[:])), nil
}

// blanked returns containers without their images; nil stays nil.
func blanked(containers []SidecarContainer) []SidecarContainer {
	if containers == nil {
		return nil
	}
	out := append([]SidecarContainer{}, containers...)
	for i := range out {
		out[i].Image = ""
	}
	return out
}
