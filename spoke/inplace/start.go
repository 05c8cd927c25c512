// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const startReason = "StartInPlaceUpdate"

// Begin is what starting an in-place update takes: first CloseGate (may be empty), then Change.
type Begin struct {
	// CloseGate sets the readiness gate's condition False. Empty where there is no gate, and where containers only
	// get other resources and go on running.
	CloseGate podpatch.Patch
	// Change carries the state annotation and either the first batch or the grace annotation. The
	// caller adds the revision labels and the lifecycle state to it.
	Change podpatch.Patch
	// After is when to look again because of the grace period; 0 when there is none.
	After time.Duration
}

// Start begins the update of a pod. What an update still under way has not changed yet is taken along: the spec is the
// step from the revision that the pod is labelled with, not from what runs. Images and resources that the pod has already
// are left alone, and when no container is left to change there is no grace period.
func Start(pod *corev1.Pod, spec *Spec, now time.Time) (Begin, error) {
	var begin Begin
	before, todo, err := unfinished(pod, spec)
	if err != nil {
		return begin, err
	}
	closes := pods.HasReadinessGate(pod, appsv1beta1.InPlaceUpdateReady) && interrupts(pod, &todo)
	state := &State{
		Revision: spec.Revision, UpdateTimestamp: metav1.NewTime(now),
		LastContainerStatuses: before.LastContainerStatuses,
		UpdateEnvFromMetadata: todo.UpdateEnvFromMetadata || before.UpdateEnvFromMetadata,
		UpdateResources:       len(todo.ContainerResources) > 0 || before.UpdateResources,
	}
	todo.ContainerImages = missingImages(pod, todo.ContainerImages)
	todo.ContainerResources = missingResources(pod, todo.ContainerResources)
	state.UpdateImages = len(todo.ContainerImages) > 0
	if closes {
		begin.CloseGate.Conditions = []corev1.PodCondition{{
			Type: appsv1beta1.InPlaceUpdateReady, Status: corev1.ConditionFalse,
			Reason: startReason, LastTransitionTime: metav1.NewTime(now),
		}}
	}
	if todo.GraceSeconds <= 0 || len(todo.containers()) == 0 {
		begin.Change, err = patchBatch(pod, &todo, state, now)
		dropGrace(&begin.Change)
		return begin, err
	}
	raw, err := json.Marshal(todo)
	if err != nil {
		return begin, fmt.Errorf("grace of in-place update: %w", err)
	}
	begin.Change.Annotate(appsv1beta1.InPlaceUpdateGraceKey, string(raw))
	begin.Change.DropAnnotation(appsv1beta1.InPlaceUpdateGraceKeyOld)
	begin.After = time.Duration(todo.GraceSeconds) * time.Second
	return begin, writeState(&begin.Change, state)
}

func missingImages(pod *corev1.Pod, wanted map[string]string) map[string]string {
	var out map[string]string
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if image, ok := wanted[c.Name]; ok && image != c.Image {
			put(&out, c.Name, image)
		}
	}
	return out
}
