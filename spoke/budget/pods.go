// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
)

// NameOf returns the name of the budget that the pod is stamped with; empty when it is stamped with none.
func NameOf(pod *corev1.Pod) string {
	name, _ := pods.Annotation(pod, policyv1beta1.PodRelatedPubKey, policyv1beta1.PodRelatedPubKeyOld)
	return name
}

// IsAvailable says whether a disruption would take the pod's availability away: it runs, is ready, nobody marked it
// unavailable, and nothing of an update in place is left to do.
func IsAvailable(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pods.IsReady(pod) && !IsMarked(pod) && IsConsistent(pod)
}

// IsMarked says whether a label marks the pod unavailable.
func IsMarked(pod *corev1.Pod) bool {
	for key := range pod.Labels {
		if strings.HasPrefix(key, policyv1beta1.PubUnavailablePodLabelPrefix) {
			return true
		}
	}
	return false
}

// IsConsistent says whether the pod runs what its spec says, as far as its images and its annotations of updates in
// place tell.
func IsConsistent(pod *corev1.Pod) bool {
	byDigest := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		want, ok := digestOf(c.Image)
		if !ok {
			continue
		}
		byDigest++
		status := statusOf(pod, c.Name)
		if status == nil {
			return false
		}
		if have, ok := digestOf(status.ImageID); !ok || have != want {
			return false
		}
	}
	if byDigest == len(pod.Spec.Containers) {
		return true
	}
	return sidecarsConsistent(pod) && inplace.IsComplete(pod)
}

// digestOf returns repository and digest of an image that is named by one. A runtime may have put its own name before it.
func digestOf(image string) (string, bool) {
	_, name, found := strings.Cut(image, "://")
	if !found {
		name = image
	}
	if !strings.Contains(name, "@") {
		return "", false
	}
	ref, err := imageref.Parse(name)
	return ref.Name + "@" + ref.Tag, err == nil
}

// sidecarState is what of annotation SidecarSetInPlaceUpdateStateAnnotation matters here, by SidecarSet.
type sidecarState map[string]struct {
	LastContainerStatuses map[string]struct {
		ImageID string `json:"imageID"`
	} `json:"lastContainerStatuses"`
}

// sidecarsConsistent says whether no injected sidecar still runs the image it had before an update in place.
func sidecarsConsistent(pod *corev1.Pod) bool {
	raw, found := pod.Annotations[appsv1beta1.SidecarSetInPlaceUpdateStateAnnotation]
	sets := pod.Annotations[appsv1beta1.SidecarSetListAnnotation]
	if !found || sets == "" {
		return true
	}
	var state sidecarState
	if err := json.Unmarshal([]byte(raw), &state); err != nil {
		return false
	}
	for _, set := range strings.Split(sets, ",") {
		for name, last := range state[strings.TrimSpace(set)].LastContainerStatuses {
			if sidecarLags(pod, name, last.ImageID) {
				return false
			}
		}
	}
	return true
}

func sidecarLags(pod *corev1.Pod, name, lastImageID string) bool {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		status := statusOf(pod, name)
		if c.Name == name && isSidecar(c) && status != nil {
			return status.ImageID == lastImageID && status.Image != c.Image
		}
	}
	return false
}

func isSidecar(c *corev1.Container) bool {
	for i := range c.Env {
		if c.Env[i].Name == appsv1beta1.SidecarEnvKey {
			return c.Env[i].Value == "true"
		}
	}
	return false
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func isTrue(annotations map[string]string, key string) bool {
	is, err := strconv.ParseBool(annotations[key])
	return err == nil && is
}
