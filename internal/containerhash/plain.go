// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerhash

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"
)

// PlainMatches tells whether hash is the kubelet's hash of the container's spec, that is whether an instance
// with this hash was made from this spec. Kubelets from 1.31 on hash name and image; older ones the whole
// container as JSON. Both are accepted, because a node does not say which it does. 0 never matches.
func PlainMatches(c *corev1.Container, hash uint64) bool {
	if hash == 0 {
		return false
	}
	return hash == ofJSON(map[string]string{"name": c.Name, "image": c.Image}) || hash == ofJSON(c)
}

// ofJSON is the kubelet's way to hash: FNV-32a over a printed form of the bytes of the JSON form.
func ofJSON(v any) uint64 {
	raw, err := json.Marshal(v)
	if err != nil { // API types and maps of strings always have a JSON form
		panic(fmt.Sprintf("containerhash: %v", err))
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, dump.ForHash(raw)) // a hash takes every write
	return uint64(h.Sum32())
}
