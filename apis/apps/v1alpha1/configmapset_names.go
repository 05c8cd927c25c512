// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/md5" // names, not secrets; the contract wants it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// longestToken is how much of a name fits into the annotations of pods.
const longestToken = 25

// ConfigMapSetToken is what stands for a set of that name in annotations and labels: the name, or its start and
// a hash where the name is longer than 25 characters.
func ConfigMapSetToken(name string) string {
	if len(name) <= longestToken {
		return name
	}
	return strings.TrimRight(name[:16], "-.") + "-" + shortHash(name)
}

// Suffixes of the names of objects, containers and volumes that belong to a set.
const (
	// ConfigMapSetRevisionsSuffix: the ConfigMap that holds the revisions.
	ConfigMapSetRevisionsSuffix = "-hub"
	// ConfigMapSetSidecarSuffix: the reload sidecar.
	ConfigMapSetSidecarSuffix = "-reload-sidecar"
	// ConfigMapSetShareSuffix: the volume that the sidecar unpacks into.
	ConfigMapSetShareSuffix = "-empty"
	// ConfigMapSetRevisionsVolumeSuffix: the volume of the ConfigMap.
	ConfigMapSetRevisionsVolumeSuffix = "-hub-volume"
)

// ConfigMapSetName is the name of what belongs to a set and has that suffix: at most 63 characters, all of them
// such as a DNS label has.
func ConfigMapSetName(name, suffix string) string {
	start := strings.ReplaceAll(strings.ToLower(name), ".", "-")
	if len(start)+len(suffix) <= 63 {
		return start + suffix
	}
	start = strings.TrimRight(start[:53-len(suffix)], "-")
	return start + "-" + shortHash(name) + suffix
}

// ConfigMapSetRevision is the revision of content: 16 hexadecimal digits. The order of keys does not matter.
func ConfigMapSetRevision(data map[string]string) string {
	text, err := json.Marshal(data) // keys sorted
	if err != nil {
		return "" // a map of strings has JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func shortHash(name string) string {
	sum := md5.Sum([]byte(name))
	return hex.EncodeToString(sum[:])[:8]
}
