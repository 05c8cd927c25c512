// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerhash

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func fieldRef(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func TestMetadataRefs(t *testing.T) {
	tests := map[string]struct {
		env  []corev1.EnvVar
		want []MetadataRef
	}{
		"none": {env: []corev1.EnvVar{{Name: "A", Value: "1"}, fieldRef("IP", "status.podIP"), fieldRef("NS", "metadata.namespace")}},
		"labels and annotations, sorted by name": {
			env: []corev1.EnvVar{fieldRef("Z", "metadata.labels['app']"), fieldRef("B", "metadata.annotations['example.com/x.y']")},
			want: []MetadataRef{
				{Name: "B", Annotation: true, Key: "example.com/x.y"},
				{Name: "Z", Key: "app"},
			},
		},
		"the last entry of a name counts": {
			env:  []corev1.EnvVar{fieldRef("A", "metadata.labels['a']"), {Name: "A", Value: "fixed"}, fieldRef("B", "metadata.labels['a']"), fieldRef("B", "metadata.labels['b']")},
			want: []MetadataRef{{Name: "B", Key: "b"}},
		},
		"versions of hot upgrades never count": {
			env: []corev1.EnvVar{fieldRef("SIDECARSET_VERSION", "metadata.annotations['v']"), fieldRef("SIDECARSET_VERSION_ALT", "metadata.annotations['w']")},
		},
		"other source or broken path": {
			env: []corev1.EnvVar{
				{Name: "C", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}},
				fieldRef("D", "metadata.labels['open"), fieldRef("E", "metadata.labels"),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, MetadataRefs(&corev1.Container{Env: tc.env})); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
		})
	}
}

// The literal values pin the function: annotations written by one release are compared by another.
func TestExpectedEnvIsPinned(t *testing.T) {
	meta := &metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"v": "1"}}
	tests := map[string]struct {
		env  []corev1.EnvVar
		want uint64
	}{
		"no variables":      {want: hashNone},
		"a label":           {env: []corev1.EnvVar{fieldRef("APP", "metadata.labels['app']")}, want: hashApp},
		"an absent label":   {env: []corev1.EnvVar{fieldRef("APP", "metadata.labels['gone']")}, want: hashEmpty},
		"label, annotation": {env: []corev1.EnvVar{fieldRef("V", "metadata.annotations['v']"), fieldRef("APP", "metadata.labels['app']")}, want: hashBoth},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ExpectedEnv(&corev1.Container{Env: tc.env}, meta); got != tc.want {
				t.Errorf("hash = %d, want %d", got, tc.want)
			}
		})
	}
}

const (
	hashNone  = 86995377
	hashApp   = 476599889
	hashEmpty = 2834158334
	hashBoth  = 3405463780
)
