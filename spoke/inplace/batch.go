// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
)

// patchBatch renders the next batch of the spec and moves the state on: what is done now is
// recorded, what waits goes to the next* maps.
func patchBatch(pod *corev1.Pod, spec *Spec, state *State, now time.Time) (podpatch.Patch, error) {
	patch, err := templateMetadata(spec.MetaDataPatch)
	if err != nil {
		return patch, err
	}
	batch := firstBatch(pod, spec)
	rest := Spec{}
	for name, image := range spec.ContainerImages {
		if !slices.Contains(batch, name) {
			put(&rest.ContainerImages, name, image)
			continue
		}
		patch.Image(name, image)
		recordStatus(state, pod, name, now)
	}
	waiting := false
	for name := range spec.ContainerResources {
		if !slices.Contains(batch, name) {
			waiting = true
			continue
		}
		patch.Resize(name, spec.ContainerResources[name])
	}
	for name, meta := range spec.ContainerRefMetadata {
		if !slices.Contains(batch, name) {
			put(&rest.ContainerRefMetadata, name, meta)
			continue
		}
		setMetadata(&patch, &meta)
	}
	state.NextContainerImages = rest.ContainerImages
	state.NextContainerRefMeta = rest.ContainerRefMetadata
	state.NextContainerResources = spec.ContainerResources
	state.PreCheckBeforeNext = nil
	if waiting || len(rest.ContainerImages)+len(rest.ContainerRefMetadata) > 0 {
		state.PreCheckBeforeNext = &PreCheck{ContainersRequiredReady: batch}
	}
	if len(batch) > 0 {
		state.ContainerBatchesRecord = append(slices.Clone(state.ContainerBatchesRecord),
			Batch{Timestamp: metav1.NewTime(now), Containers: batch})
	}
	return patch, writeState(&patch, state)
}

func setMetadata(patch *podpatch.Patch, meta *metav1.ObjectMeta) {
	for key, value := range meta.Labels {
		patch.Label(key, value)
	}
	for key, value := range meta.Annotations {
		patch.Annotate(key, value)
	}
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// mostImages bounds the images that are noted of one container: a pod that never gets through an update may be given
// any number of others, and all annotations together have a limit.
const mostImages = 20

// withImage has the image as its last and newest; the oldest beyond mostImages are forgotten.
func withImage(images []string, image string) []string {
	out := append(slices.DeleteFunc(slices.Clone(images), func(have string) bool { return have == image }), image)
	return out[max(0, len(out)-mostImages):]
}

// recordStatus notes what a container runs before its image changes.
func recordStatus(state *State, pod *corev1.Pod, name string, now time.Time) {
	var last ContainerStatus
	pending, isPending := state.LastContainerStatuses[name]
	if status := statusOf(pod, name); status != nil {
		last.ImageID, last.ContainerID, last.Since = status.ImageID, status.ContainerID, ptr.To(metav1.NewTime(now))
		last.OfSpec = isOfSpec(pod, name, status.ContainerID)
	}
	if last.ImageID == "" || isPending {
		last.Images = withImage(pending.Images, imageOf(pod, name))
	}
	put(&state.LastContainerStatuses, name, last)
}

func writeState(patch *podpatch.Patch, state *State) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("state of in-place update: %w", err)
	}
	patch.Annotate(appsv1beta1.InPlaceUpdateStateKey, string(raw))
	patch.DropAnnotation(appsv1beta1.InPlaceUpdateStateKeyOld)
	return nil
}

func dropGrace(patch *podpatch.Patch) {
	patch.DropAnnotation(appsv1beta1.InPlaceUpdateGraceKey)
	patch.DropAnnotation(appsv1beta1.InPlaceUpdateGraceKeyOld)
}

// templateMetadata turns a strategic-merge patch of metadata into ours.
func templateMetadata(raw []byte) (podpatch.Patch, error) {
	var patch podpatch.Patch
	if len(raw) == 0 {
		return patch, nil
	}
	var body struct {
		Metadata struct {
			Labels      map[string]*string `json:"labels"`
			Annotations map[string]*string `json:"annotations"`
			Finalizers  []string           `json:"finalizers"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return patch, fmt.Errorf("metadata patch of in-place update: %w", err)
	}
	patch.Labels, patch.Annotations = body.Metadata.Labels, body.Metadata.Annotations
	patch.Finalizers = body.Metadata.Finalizers
	return patch, nil
}

// firstBatch returns the containers to change now, sorted: those without launch priority and those
// that share the highest one, and all that restart with them because they share metadata.
func firstBatch(pod *corev1.Pod, spec *Spec) []string {
	touched := spec.containers()
	in := foremost(pod, touched)
	for grown := true; grown; {
		grown = false
		for _, name := range touched {
			if !in[name] && sharesMetadata(spec, name, in) {
				in[name], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(touched, func(name string) bool { return !in[name] })
}

// foremost are the containers without launch priority and those that share the highest one.
func foremost(pod *corev1.Pod, touched []string) map[string]bool {
	highest := math.MinInt
	priorities := map[string]int{}
	for _, name := range touched {
		if p := launchPriority(pod, name); p != nil {
			priorities[name] = *p
			highest = max(highest, *p)
		}
	}
	in := map[string]bool{}
	for _, name := range touched {
		if p, has := priorities[name]; !has || p == highest {
			in[name] = true
		}
	}
	return in
}

func sharesMetadata(spec *Spec, name string, in map[string]bool) bool {
	mine := spec.ContainerRefMetadata[name]
	for other := range in {
		theirs := spec.ContainerRefMetadata[other]
		for key := range mine.Labels {
			if _, ok := theirs.Labels[key]; ok {
				return true
			}
		}
		for key := range mine.Annotations {
			if _, ok := theirs.Annotations[key]; ok {
				return true
			}
		}
	}
	return false
}

// launchPriority reads the container's launch priority from its barrier variable; nil when it has
// none.
func launchPriority(pod *corev1.Pod, container string) *int {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name != container {
			continue
		}
		for _, env := range pod.Spec.Containers[i].Env {
			if env.Name != "KRUISE_CONTAINER_BARRIER" || env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
				continue
			}
			text, ok := strings.CutPrefix(env.ValueFrom.ConfigMapKeyRef.Key, "p_")
			if p, err := strconv.Atoi(text); ok && err == nil {
				return &p
			}
		}
	}
	return nil
}
