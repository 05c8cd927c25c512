// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/internal/pods"
)

// leftOver is what the pod's revision label promises and the pod has not got: the change that its grace period holds
// back, or the batches not begun, and what else must be waited for. The step from that revision to another says
// nothing of it, so the next update takes it along.
func leftOver(pod *corev1.Pod) (left Spec, resources bool) {
	state, err := ReadState(pod)
	if err != nil || state == nil {
		return Spec{}, false
	}
	grace, err := ReadGrace(pod)
	if err != nil || !pods.SameRevision(pods.Revision(pod), state.Revision) {
		return Spec{}, false
	}
	if grace != nil {
		left = *grace
		left.UpdateEnvFromMetadata = grace.UpdateEnvFromMetadata || state.UpdateEnvFromMetadata
		return left, state.UpdateResources
	}
	if done, _ := containersDone(pod, state); done && !state.hasNext() {
		return Spec{}, false
	}
	return state.next(), state.UpdateResources
}

// over adds what an earlier change left; where both say something, s wins.
func (s Spec) over(left *Spec) (Spec, error) {
	images := maps.Clone(left.ContainerImages)
	for name, image := range s.ContainerImages {
		put(&images, name, image)
	}
	s.ContainerImages = images
	references := maps.Clone(left.ContainerRefMetadata)
	for name := range s.ContainerRefMetadata {
		old, meta := references[name], s.ContainerRefMetadata[name]
		put(&references, name, metav1.ObjectMeta{
			Labels: union(old.Labels, meta.Labels), Annotations: union(old.Annotations, meta.Annotations),
		})
	}
	s.ContainerRefMetadata = references
	resources := maps.Clone(left.ContainerResources)
	for name, want := range s.ContainerResources {
		old := resources[name]
		put(&resources, name, corev1.ResourceRequirements{
			Limits: union(old.Limits, want.Limits), Requests: union(old.Requests, want.Requests), Claims: want.Claims,
		})
	}
	s.ContainerResources = resources
	s.UpdateEnvFromMetadata = s.UpdateEnvFromMetadata || left.UpdateEnvFromMetadata
	var err error
	s.MetaDataPatch, err = mergePatches(left.MetaDataPatch, s.MetaDataPatch)
	return s, err
}

// union has the entries of both; nil when there is none.
func union[M ~map[K]V, K comparable, V any](under, over M) M {
	if len(under) == 0 {
		return over
	}
	out := maps.Clone(under)
	maps.Copy(out, over)
	return out
}

// mergePatches makes one patch of two that are applied one after the other.
func mergePatches(first, second []byte) ([]byte, error) {
	if len(first) == 0 {
		return second, nil
	}
	if len(second) == 0 {
		return first, nil
	}
	var a, b map[string]any
	for raw, into := range map[*[]byte]*map[string]any{&first: &a, &second: &b} {
		if err := json.Unmarshal(*raw, into); err != nil {
			return nil, fmt.Errorf("metadata patch of in-place update: %w", err)
		}
	}
	return json.Marshal(mergeTrees(a, b))
}

func mergeTrees(under, over map[string]any) map[string]any {
	out := union(under, over)
	for key, value := range over {
		below, isTree := under[key].(map[string]any)
		if tree, ok := value.(map[string]any); ok && isTree {
			out[key] = mergeTrees(below, tree)
		}
	}
	return out
}
