// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerhash

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The environment variables of hot upgrades change with every step of one and must not restart a container,
// so they never count.
const (
	sidecarVersionEnv    = "SIDECARSET_VERSION"
	sidecarVersionAltEnv = "SIDECARSET_VERSION_ALT"
)

// MetadataRef is an environment variable whose value is one label or one annotation of the pod.
type MetadataRef struct {
	// Name is the name of the variable.
	Name string
	// Annotation says that Key is an annotation; else it is a label.
	Annotation bool
	// Key is the key of the label or annotation.
	Key string
}

// MetadataRefs returns the variables of a container that come from metadata, sorted by name, each name once.
// Where a name is given several times only the last entry counts, as it does for the kubelet.
func MetadataRefs(c *corev1.Container) []MetadataRef {
	last := map[string]corev1.EnvVar{}
	for _, e := range c.Env {
		last[e.Name] = e
	}
	var refs []MetadataRef
	for _, e := range last {
		if ref, ok := metadataRef(e); ok {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b MetadataRef) int { return strings.Compare(a.Name, b.Name) })
	return refs
}

// ValueIn returns the value of the label or annotation in an object's metadata; "" when it is absent, which is
// what the kubelet gives the container then.
func (r MetadataRef) ValueIn(obj metav1.Object) string {
	if r.Annotation {
		return obj.GetAnnotations()[r.Key]
	}
	return obj.GetLabels()[r.Key]
}

// ExpectedEnv returns the hash that a container started now, with this metadata, would have. It is never 0 in
// practice; a container without such variables has a hash too, the same for all of them.
func ExpectedEnv(c *corev1.Container, obj metav1.Object) uint64 {
	return Env(MetadataRefs(c), func(r MetadataRef) string { return r.ValueIn(obj) })
}

// Env returns the hash of the variables refs, in their order, with the values that value gives.
func Env(refs []MetadataRef, value func(MetadataRef) string) uint64 {
	var vars []corev1.EnvVar // stays nil, JSON null, without variables
	for _, r := range refs {
		vars = append(vars, corev1.EnvVar{Name: r.Name, Value: value(r)})
	}
	return ofJSON(vars)
}

func metadataRef(e corev1.EnvVar) (MetadataRef, bool) {
	if e.Value != "" || e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
		return MetadataRef{}, false
	}
	if e.Name == sidecarVersionEnv || e.Name == sidecarVersionAltEnv {
		return MetadataRef{}, false
	}
	path := e.ValueFrom.FieldRef.FieldPath
	if key, ok := subscript(path, "metadata.labels"); ok {
		return MetadataRef{Name: e.Name, Key: key}, true
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return MetadataRef{Name: e.Name, Annotation: true, Key: key}, true
	}
	return MetadataRef{}, false
}

// subscript returns k of a path written prefix['k'].
func subscript(path, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "']")
}
