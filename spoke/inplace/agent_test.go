// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"

	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// plainHash is what kubelet from 1.31 on gives to a container.
func plainHash(c *corev1.Container) uint64 {
	raw, err := json.Marshal(map[string]string{"name": c.Name, "image": c.Image})
	if err != nil {
		panic(err)
	}
	h := fnv.New32a()
	fmt.Fprint(h, dump.ForHash(raw))
	return uint64(h.Sum32())
}

func envHash(c *corev1.Container, pod *corev1.Pod) uint64 { return containerhash.ExpectedEnv(c, pod) }
