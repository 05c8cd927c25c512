// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerhash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/dump"
)

// Meta is the content of pod annotation apps.kruise.io/runtime-containers-meta.
type Meta struct {
	Containers []ContainerMeta `json:"containers"`
}

// ContainerMeta tells what one running container is.
type ContainerMeta struct {
	Name         string `json:"name"`
	ContainerID  string `json:"containerID"`
	RestartCount int32  `json:"restartCount"`
	Hashes       Hashes `json:"hashes"`
}

// Hashes of a running container; 0 means not known.
type Hashes struct {
	// PlainHash is kubelet's hash of the spec the container was started with.
	PlainHash uint64 `json:"plainHash"`
	// ExtractedEnvFromMetadataHash is the EnvHash of the env the container runs with.
	ExtractedEnvFromMetadataHash uint64 `json:"extractedEnvFromMetadataHash,omitempty"`
}

// IsPlain says whether hash is kubelet's hash of that container: of name and image (kubelet from
// 1.31 on) or of the whole container (older ones).
func IsPlain(c *corev1.Container, hash uint64) bool {
	return hash == Plain(c) || hash == deepHash(c)
}

// Plain returns the hash that kubelet from 1.31 on gives to a container.
func Plain(c *corev1.Container) uint64 {
	return deepHash(map[string]string{"name": c.Name, "image": c.Image})
}

// Env returns the hash of the env variables that the container takes from the given metadata.
func Env(c *corev1.Container, meta *metav1.ObjectMeta) uint64 {
	return EnvValues(c, func(_, field, key string) string {
		if field == "labels" {
			return meta.Labels[key]
		}
		return meta.Annotations[key]
	})
}

// EnvValues is Env with the value of each variable asked from value(name, "labels"|"annotations", key).
func EnvValues(c *corev1.Container, value func(name, field, key string) string) uint64 {
	var list []corev1.EnvVar
	for i := range c.Env {
		field, key, ok := Reference(&c.Env[i])
		if !ok {
			continue
		}
		name := c.Env[i].Name
		list = append(list, corev1.EnvVar{Name: name, Value: value(name, field, key)})
	}
	slices.SortFunc(list, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return deepHash(list)
}

// referencePath matches the fieldPath of an env variable taken from a label or an annotation.
var referencePath = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// Reference reads an env variable as a reference to a label or annotation of its pod; field is
// "labels" or "annotations". Sidecar version variables and those with a literal value are none.
func Reference(env *corev1.EnvVar) (field, key string, ok bool) {
	if env.Value != "" || env.ValueFrom == nil || env.ValueFrom.FieldRef == nil {
		return "", "", false
	}
	if env.Name == "SIDECARSET_VERSION" || env.Name == "SIDECARSET_VERSION_ALT" {
		return "", "", false
	}
	match := referencePath.FindStringSubmatch(env.ValueFrom.FieldRef.FieldPath)
	if match == nil {
		return "", "", false
	}
	return match[1], match[2], true
}

// deepHash is FNV-32a over a dump of the JSON bytes, as kubelet hashes containers.
func deepHash(object any) uint64 {
	raw, err := json.Marshal(object)
	if err != nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%v", dump.ForHash(raw))
	return uint64(h.Sum32())
}
