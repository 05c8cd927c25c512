// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerhash

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPlainMatches(t *testing.T) {
	c := &corev1.Container{Name: "main", Image: "nginx:1"}
	const ofNameAndImage, ofWhole = 1827770005, 3389287508
	tests := map[string]struct {
		hash uint64
		want bool
	}{
		"kubelet 1.31 and newer": {hash: ofNameAndImage, want: true},
		"older kubelet":          {hash: ofWhole, want: true},
		"another spec":           {hash: ofNameAndImage + 1},
		"not known":              {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := PlainMatches(c, tc.hash); got != tc.want {
				t.Errorf("PlainMatches(%d) = %v, want %v", tc.hash, got, tc.want)
			}
		})
	}
}
