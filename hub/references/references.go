// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kinds of what is needed, in group "" and version v1.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// Reference names a ConfigMap or a Secret in the namespace of the object that needs it.
type Reference struct {
	Kind, Name string
}

// String is Kind/Name.
func (r Reference) String() string { return r.Kind + "/" + r.Name }

// Parse reads what String wrote; not ok when it is something else.
func Parse(text string) (Reference, bool) {
	kind, name, ok := strings.Cut(text, "/")
	return Reference{kind, name}, ok && (kind == ConfigMap || kind == Secret) && name != ""
}

// given are in every namespace of every cluster, and each cluster's own.
var given = map[Reference]bool{{ConfigMap, "kube-root-ca.crt"}: true}

// Of returns what the pods of an object need, sorted and each once. What cannot be read as a pod's spec
// needs nothing: the API server of a member will say what is wrong with it.
func Of(object *unstructured.Unstructured) []string {
	found := finder{}
	found.walk(object.Object)
	return slices.Sorted(maps.Keys(found))
}

type finder map[string]bool

func (f finder) add(kind, name string) {
	r := Reference{kind, name}
	if name != "" && !given[r] {
		f[r.String()] = true
	}
}

// walk looks for pod specs at any depth.
func (f finder) walk(value any) {
	switch v := value.(type) {
	case map[string]any:
		if isPodSpec(v) {
			f.podSpec(v)
			return
		}
		for _, child := range v {
			f.walk(child)
		}
	case []any:
		for _, child := range v {
			f.walk(child)
		}
	}
}

// isPodSpec tells a pod's spec, or the part of one that a patch holds, by its lists.
func isPodSpec(v map[string]any) bool {
	for _, field := range []string{"containers", "initContainers", "volumes", "imagePullSecrets"} {
		if list, ok := v[field].([]any); ok && len(list) > 0 {
			if _, ok := list[0].(map[string]any); ok {
				return true
			}
		}
	}
	return false
}

// podSpec reads the parts of a pod's spec that name something, each for itself: one that cannot be read
// hides no other.
func (f finder) podSpec(spec map[string]any) {
	for _, field := range []string{"containers", "initContainers"} {
		for _, c := range each[corev1.Container](spec[field]) {
			f.container(&c)
		}
	}
	for _, v := range each[corev1.Volume](spec["volumes"]) {
		f.volume(&v)
	}
	for _, s := range each[corev1.LocalObjectReference](spec["imagePullSecrets"]) {
		f.add(Secret, s.Name)
	}
}

func (f finder) container(c *corev1.Container) {
	for _, env := range c.Env {
		if from := env.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			f.add(ConfigMap, from.ConfigMapKeyRef.Name)
		}
		if from := env.ValueFrom; from != nil && from.SecretKeyRef != nil {
			f.add(Secret, from.SecretKeyRef.Name)
		}
	}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			f.add(ConfigMap, from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			f.add(Secret, from.SecretRef.Name)
		}
	}
}

func (f finder) volume(v *corev1.Volume) {
	if v.ConfigMap != nil {
		f.add(ConfigMap, v.ConfigMap.Name)
	}
	if v.Secret != nil {
		f.add(Secret, v.Secret.SecretName)
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		f.add(Secret, v.CSI.NodePublishSecretRef.Name)
	}
	if v.Projected == nil {
		return
	}
	for _, source := range v.Projected.Sources {
		if source.ConfigMap != nil {
			f.add(ConfigMap, source.ConfigMap.Name)
		}
		if source.Secret != nil {
			f.add(Secret, source.Secret.Name)
		}
	}
}

// each reads the elements of a list; those that cannot be read are left out.
func each[T any](list any) (out []T) {
	elements, _ := list.([]any)
	for _, element := range elements {
		m, ok := element.(map[string]any)
		if !ok {
			continue
		}
		var one T
		if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &one) == nil {
			out = append(out, one)
		}
	}
	return out
}
