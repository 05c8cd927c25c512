// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// ConfigMapSetRevisionEntry is one revision in the ConfigMap of a set, whose key ConfigMapSetRevisionsKey holds a
// list of them as JSON, oldest first.
type ConfigMapSetRevisionEntry struct {
	// Hash of the content: see ConfigMapSetRevision.
	Hash string `json:"hash"`
	// CustomVersion of the content.
	CustomVersion string `json:"customVersion"`
	// TimeStamp is when the content was last made the newest.
	TimeStamp metav1.Time `json:"timeStamp"`
	// Data is the content.
	Data map[string]string `json:"data"`
}

// ParseReloadSidecar reads a container from the text of key ConfigMapSetSidecarKey, which is JSON or YAML.
// Errors say what cannot be read, or that the container has no image.
func ParseReloadSidecar(text string) (*corev1.Container, error) {
	plain, err := utilyaml.ToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("key %s is neither JSON nor YAML: %w", ConfigMapSetSidecarKey, err)
	}
	var container corev1.Container
	if err := json.Unmarshal(plain, &container); err != nil {
		return nil, fmt.Errorf("key %s is no container: %w", ConfigMapSetSidecarKey, err)
	}
	if container.Image == "" {
		return nil, errors.New("key " + ConfigMapSetSidecarKey + " is a container without an image")
	}
	return &container, nil
}

// Is says whether the policy is of that type; case does not matter, and Restart is ReStart.
func (t EffectPolicyType) Is(other EffectPolicyType) bool {
	return strings.EqualFold(string(t), string(other))
}
