// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// unfinished looks at what an update still under way on the pod has left. before has what it waits to see, so that a
// second update on top does not count it as done; todo is the spec with what the first has not changed yet, where
// the spec says nothing of it. Annotations that cannot be read leave nothing: the new update replaces them.
func unfinished(pod *corev1.Pod, spec *Spec) (before State, todo Spec, err error) {
	before.LastContainerStatuses = map[string]ContainerStatus{}
	todo = *spec
	state, err := ReadState(pod)
	if err != nil || state == nil {
		return before, todo, nil
	}
	for name, last := range state.LastContainerStatuses {
		if !containerChanged(pod, name, last) {
			before.LastContainerStatuses[name] = last
		}
	}
	if done, _ := containersDone(pod, state); !done {
		// An open gate says that the update was through: metadata edited on the pod since then is nobody's to wait for.
		before.UpdateEnvFromMetadata = state.UpdateEnvFromMetadata && !gateOpen(pod)
		before.UpdateResources = state.UpdateResources
	}
	if !pods.SameRevision(pods.Revision(pod), state.Revision) {
		return before, todo, nil
	}
	left := state.next(pod)
	if grace, err := ReadGrace(pod); err == nil && grace != nil && pods.SameRevision(grace.Revision, state.Revision) {
		left = *grace
	}
	todo, err = joinSpecs(&left, spec)
	return before, todo, err
}

func gateOpen(pod *corev1.Pod) bool {
	c := pods.Condition(pod, appsv1beta1.InPlaceUpdateReady)
	return pods.HasReadinessGate(pod, appsv1beta1.InPlaceUpdateReady) && c != nil && c.Status == corev1.ConditionTrue
}

// joinSpecs lays one spec over another: where both speak of the same, the later holds.
func joinSpecs(first, second *Spec) (Spec, error) {
	out := *second
	out.ContainerImages = over(first.ContainerImages, second.ContainerImages)
	out.ContainerResources = maps.Clone(first.ContainerResources)
	for name := range second.ContainerResources {
		a, b := out.ContainerResources[name], second.ContainerResources[name]
		put(&out.ContainerResources, name, corev1.ResourceRequirements{Limits: joined(a.Limits, b.Limits), Requests: joined(a.Requests, b.Requests)})
	}
	out.ContainerRefMetadata = maps.Clone(first.ContainerRefMetadata)
	for name := range second.ContainerRefMetadata {
		a, b := out.ContainerRefMetadata[name], second.ContainerRefMetadata[name]
		put(&out.ContainerRefMetadata, name, metav1.ObjectMeta{Labels: over(a.Labels, b.Labels), Annotations: over(a.Annotations, b.Annotations)})
	}
	out.UpdateEnvFromMetadata = len(out.ContainerRefMetadata) > 0
	return out, joinMetadata(&out, first.MetaDataPatch, second.MetaDataPatch)
}

// joinMetadata lays the patches over each other. A key that the later one takes away is not set afterwards by what env
// refers to.
func joinMetadata(out *Spec, first, second []byte) error {
	a, err := templateMetadata(first)
	if err != nil {
		return err
	}
	b, err := templateMetadata(second)
	if err != nil {
		return err
	}
	for name, meta := range out.ContainerRefMetadata {
		out.ContainerRefMetadata[name] = metav1.ObjectMeta{Labels: without(meta.Labels, b.Labels), Annotations: without(meta.Annotations, b.Annotations)}
	}
	a.Merge(b)
	if a.Empty() {
		out.MetaDataPatch = nil
		return nil
	}
	body := map[string]any{}
	for key, value := range map[string]map[string]*string{"labels": a.Labels, "annotations": a.Annotations} {
		if len(value) > 0 {
			body[key] = value
		}
	}
	if len(a.Finalizers) > 0 {
		body["finalizers"] = a.Finalizers
	}
	if out.MetaDataPatch, err = json.Marshal(map[string]any{"metadata": body}); err != nil {
		return fmt.Errorf("metadata of in-place update: %w", err)
	}
	return nil
}

// over is the second map over the first; neither is changed.
func over[V any](first, second map[string]V) map[string]V {
	if len(first) == 0 {
		return second
	}
	out := maps.Clone(first)
	maps.Copy(out, second)
	return out
}

// without leaves out what the other map takes away.
func without(values map[string]string, taken map[string]*string) map[string]string {
	out := maps.Clone(values)
	for key, value := range taken {
		if value == nil {
			delete(out, key)
		}
	}
	return out
}
