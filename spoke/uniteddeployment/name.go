// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxPrefix and suffixLength are those of names the API server generates.
	maxPrefix    = 58
	suffixLength = 5
	// alphabet has no vowels and nothing that looks like another letter.
	alphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// workloadName completes a prefix as the API server would, but with a suffix that follows from the
// owner, the subset and the kind: making the same workload twice fails instead of making two.
// attempt tells apart the names to try when one is taken by something else.
func workloadName(prefix string, owner types.UID, subset, kind string, attempt int) string {
	if len(prefix) > maxPrefix {
		prefix = prefix[:maxPrefix]
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(owner) + "/" + subset + "/" + kind + "/" + strconv.Itoa(attempt)))
	sum := h.Sum64()
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = alphabet[sum%uint64(len(alphabet))]
		sum /= uint64(len(alphabet))
	}
	return prefix + string(suffix)
}
