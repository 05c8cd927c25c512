// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// TemplateHash returns the short hash by which DaemonSets name a new revision and label their pods;
// collisions is nil or how often that name was taken. It is FNV-1a of how the template's Go value prints,
// as Kubernetes' own DaemonSet controller makes it, so that a Kubernetes library with more fields gives
// another hash for the same template. A revision that exists is therefore found by its payload, and its
// hash read from its label ControllerRevisionHashLabel: never computed again.
func TemplateHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, dump.ForHash(*template)) // a hash takes every write
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		_, _ = h.Write(count[:])
	}
	return encode(h.Sum32())
}

// encode writes a sum with letters and digits that make no words.
func encode(sum uint32) string { return rand.SafeEncodeString(fmt.Sprint(sum)) }
