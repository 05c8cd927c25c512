// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// digest is a pod that wants one image by digest and runs another; each digest is of one letter.
func digest(name, wants, runs string) *corev1.Pod {
	pod := ready(name)
	pod.Spec.Containers[0].Image = "web@sha256:" + strings.Repeat(wants, 64)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "docker-pullable://docker.io/library/web@sha256:" + strings.Repeat(runs, 64)}}
	return pod
}

func with(pod *corev1.Pod, annotations map[string]string) *corev1.Pod {
	pod.Annotations = annotations
	return pod
}

func injected(image, runs, imageID string) *corev1.Pod {
	pod := ready("p")
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "log", Image: image, Env: []corev1.EnvVar{{Name: "IS_INJECTED", Value: "true"}}})
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: "web:1"}, {Name: "log", Image: runs, ImageID: imageID}}
	return pod
}

// Spec 4.6.
func TestIsConsistent(t *testing.T) {
	const sets, state = "kruise.io/sidecarset-injected-list", "kruise.io/sidecarset-inplace-update-state"
	old := map[string]string{sets: "other,logs", state: `{"logs":{"lastContainerStatuses":{"log":{"imageID":"old"}}}}`}
	mixed := digest("p", "a", "a")
	mixed.Spec.Containers = append(mixed.Spec.Containers, corev1.Container{Name: "log", Image: "log:2"})
	mixed.Status.ContainerStatuses = append(mixed.Status.ContainerStatuses, corev1.ContainerStatus{Name: "log", Image: "log:1", ImageID: "x"})
	elsewhere := digest("p", "a", "a")
	elsewhere.Status.ContainerStatuses[0].ImageID = "quay.io/team/web@sha256:" + strings.Repeat("a", 64)
	none := digest("p", "a", "a")
	none.Status.ContainerStatuses = nil
	updating := map[string]string{"apps.kruise.io/inplace-update-state": `{"revision":"r","updateTimestamp":"2026-01-01T00:00:00Z","lastContainerStatuses":{"main":{"imageID":"x"},"log":{"imageID":"x"}}}`}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"plain":                            {ready("p"), true},
		"the digest runs":                  {digest("p", "a", "a"), true},
		"another digest runs":              {digest("p", "a", "b"), false},
		"that digest of another place":     {elsewhere, false},
		"nothing is known of it":           {none, false},
		"all by digest: nothing else":      {with(digest("p", "a", "a"), updating), true},
		"one by tag: everything else":      {with(mixed, updating), false},
		"update in place":                  {with(ready("p"), updating), false},
		"grace period":                     {with(ready("p"), map[string]string{"apps.kruise.io/inplace-update-grace": "{}"}), false},
		"sidecar of old image":             {with(injected("log:2", "log:1", "old"), old), false},
		"sidecar of new image":             {with(injected("log:2", "log:2", "new"), old), true},
		"new name of one image":            {with(injected("log:2", "log:2", "old"), old), true},
		"set that injected nothing":        {with(injected("log:2", "log:1", "old"), map[string]string{sets: "a", state: old[state]}), true},
		"no state":                         {with(injected("log:2", "log:1", "old"), map[string]string{sets: "logs"}), true},
		"state that cannot be read":        {with(injected("log:2", "log:1", "old"), map[string]string{sets: "logs", state: "{"}), false},
		"no container of that name is one": {with(ready("p"), old), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsConsistent(tc.pod); got != tc.want {
				t.Errorf("consistent: %v", got)
			}
		})
	}
}

func TestNameOf(t *testing.T) {
	for want, annotations := range map[string]map[string]string{
		"":    nil,
		"new": {"pub.kruise.io/related-pub": "new", "kruise.io/related-pub": "old"},
		"old": {"pub.kruise.io/related-pub": "", "kruise.io/related-pub": "old"},
	} {
		if got := NameOf(with(ready("p"), annotations)); got != want {
			t.Errorf("%v: %q", annotations, got)
		}
	}
}
