// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// IsComplete says whether no in-place update is under way on the pod: no grace period, nothing left
// for a later batch, and every changed container runs what the pod's spec says.
func IsComplete(pod *corev1.Pod) bool {
	if InGrace(pod) {
		return false
	}
	state, err := ReadState(pod)
	if err != nil {
		return false
	}
	if state == nil {
		return true
	}
	done, _ := containersDone(pod, state)
	return done && !state.hasNext(pod)
}

// containersDone compares what runs with what the pod's spec says; why names the container that
// lags behind.
func containersDone(pod *corev1.Pod, state *State) (done bool, why string) {
	meta := readMeta(pod)
	if state.UpdateEnvFromMetadata {
		if why := envPending(pod, meta); why != "" {
			return false, why
		}
	}
	if state.UpdateResources {
		if done, why := resized(pod); !done {
			return false, why
		}
	}
	if meta != nil && matches(pod, meta, plainMatches) == "" {
		return true, ""
	}
	for _, name := range slices.Sorted(maps.Keys(state.LastContainerStatuses)) {
		if !containerChanged(pod, name, state.LastContainerStatuses[name]) {
			return false, lagging(pod, name)
		}
	}
	return true, ""
}

// envPending says why containers do not run with the metadata of now in their env; empty when they do.
func envPending(pod *corev1.Pod, meta *appsv1beta1.RuntimeContainerMetaSet) string {
	if meta == nil {
		return "the node agent does not report the env of containers (annotation " + appsv1beta1.RuntimeContainerMetaKey + ")"
	}
	switch name := matches(pod, meta, envMatches); {
	case name == "":
		return ""
	case envUnread(pod, meta, name):
		return "the node agent has not read the env of container " + name + " yet, which takes the command env in its image"
	default:
		return "container " + name + " has not restarted with the new metadata in its env yet"
	}
}

// envUnread says whether the node agent reports the instance that runs of a container, but not its env.
func envUnread(pod *corev1.Pod, meta *appsv1beta1.RuntimeContainerMetaSet, name string) bool {
	status := statusOf(pod, name)
	return status != nil && status.State.Running != nil && slices.ContainsFunc(meta.Containers, func(m appsv1beta1.RuntimeContainerMeta) bool {
		return m.Name == name && m.ContainerID == status.ContainerID && m.Hashes.ExtractedEnvFromMetadataHash == 0
	})
}

// lagging says how what runs of a container differs from what it should run.
func lagging(pod *corev1.Pod, name string) string {
	status := statusOf(pod, name)
	if status == nil || status.ImageID == "" {
		return "container " + name + " has not started yet"
	}
	return fmt.Sprintf("container %s has not restarted with image %s yet: the runtime still reports %s", name, imageOf(pod, name), status.Image)
}

// imageOf is the image that the pod's spec has for a container; empty when it has no such container.
func imageOf(pod *corev1.Pod, name string) string {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return pod.Spec.Containers[i].Image
		}
	}
	return ""
}

// containerChanged says whether a container has left the image it had, or has the one it should.
func containerChanged(pod *corev1.Pod, name string, last ContainerStatus) bool {
	status := statusOf(pod, name)
	if status == nil || status.ImageID == "" {
		return false
	}
	want := imageOf(pod, name)
	switch {
	case want == "" || startedSince(pod, status, &last):
		return true
	case runsOneOf(status, last.Images, want):
		return false
	case status.ImageID != last.ImageID:
		return true
	case last.OfSpec && status.ContainerID == last.ContainerID:
		// A runtime names one digest by any of its tags, so the image's name proves nothing yet.
		return false
	}
	return normalImage(want) == normalImage(status.Image)
}

// startedSince says whether the container was made after its change was written, by a kubelet that knows the pod as it
// is. It tells where the image does not: a runtime may name one digest by another of its tags for ever. API servers that
// count no generations of pods (before 1.33) leave open what the kubelet knew: the old image may have crashed just then.
func startedSince(pod *corev1.Pod, status *corev1.ContainerStatus, last *ContainerStatus) bool {
	if last.Since == nil || status.ImageID != last.ImageID || status.ContainerID == last.ContainerID || status.State.Running == nil {
		return false
	}
	return pod.Generation > 0 && pod.Status.ObservedGeneration >= pod.Generation && !status.State.Running.StartedAt.Before(last.Since)
}

// runsOneOf says whether a container runs an image by a name that it had in the pod's spec before, and not by the wanted
// one.
func runsOneOf(status *corev1.ContainerStatus, images []string, want string) bool {
	if len(images) == 0 {
		return false
	}
	runs := normalImage(status.Image)
	return runs != normalImage(want) && slices.ContainsFunc(images, func(image string) bool { return normalImage(image) == runs })
}

func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func readMeta(pod *corev1.Pod) *appsv1beta1.RuntimeContainerMetaSet {
	raw, ok := pod.Annotations[appsv1beta1.RuntimeContainerMetaKey]
	if !ok {
		return nil
	}
	var meta appsv1beta1.RuntimeContainerMetaSet
	if err := json.Unmarshal([]byte(raw), &meta); err != nil {
		return nil
	}
	return &meta
}

// matches returns the first container for which the node agent's report is not current or the test does not
// hold; empty when there is none.
func matches(pod *corev1.Pod, meta *appsv1beta1.RuntimeContainerMetaSet, test func(*corev1.Pod, *corev1.Container, *appsv1beta1.RuntimeContainerMeta) bool) string {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		at := slices.IndexFunc(meta.Containers, func(m appsv1beta1.RuntimeContainerMeta) bool { return m.Name == c.Name })
		status := statusOf(pod, c.Name)
		if at < 0 || status == nil || status.ContainerID == "" || status.ContainerID != meta.Containers[at].ContainerID {
			return c.Name
		}
		if !test(pod, c, &meta.Containers[at]) {
			return c.Name
		}
	}
	return ""
}

// isOfSpec says whether the node agent reports this very container as made of the pod's spec as it is.
func isOfSpec(pod *corev1.Pod, name, id string) bool {
	meta := readMeta(pod)
	if meta == nil || id == "" {
		return false
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name == name {
			return slices.ContainsFunc(meta.Containers, func(m appsv1beta1.RuntimeContainerMeta) bool {
				return m.Name == name && m.ContainerID == id && containerhash.PlainMatches(c, m.Hashes.PlainHash)
			})
		}
	}
	return false
}

func plainMatches(_ *corev1.Pod, c *corev1.Container, m *appsv1beta1.RuntimeContainerMeta) bool {
	return containerhash.PlainMatches(c, m.Hashes.PlainHash)
}

func envMatches(pod *corev1.Pod, c *corev1.Container, m *appsv1beta1.RuntimeContainerMeta) bool {
	return containerhash.ExpectedEnv(c, pod) == m.Hashes.ExtractedEnvFromMetadataHash
}

// normalImage spells out the registry, the library folder and the tag that an image name leaves out.
func normalImage(image string) string {
	domain, rest, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(domain, ".:") && domain != "localhost" {
		domain, rest = "docker.io", image
	}
	if domain == "index.docker.io" {
		domain = "docker.io"
	}
	if domain == "docker.io" && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	if !strings.ContainsAny(rest, ":@") {
		rest += ":latest"
	}
	return domain + "/" + rest
}
