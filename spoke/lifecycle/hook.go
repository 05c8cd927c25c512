// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Held says whether any label or finalizer of the hook is on the pod, and which, for people to read.
func Held(hook *appsv1beta1.LifecycleHook, pod *corev1.Pod) (bool, string) {
	if hook == nil {
		return false, ""
	}
	var by []string
	for _, finalizer := range hook.FinalizersHandler {
		if slices.Contains(pod.Finalizers, finalizer) {
			by = append(by, "finalizer "+finalizer)
		}
	}
	for key, value := range hook.LabelsHandler {
		if got, ok := pod.Labels[key]; ok && got == value {
			by = append(by, "label "+key+"="+value)
		}
	}
	slices.Sort(by)
	return len(by) > 0, strings.Join(by, ", ")
}

// Complete says whether every label and finalizer of the hook is on the pod. A nil hook never is.
// missing names what is not there, for people to read.
func Complete(hook *appsv1beta1.LifecycleHook, pod *corev1.Pod) (complete bool, missing string) {
	if hook == nil {
		return false, ""
	}
	var absent []string
	for _, finalizer := range hook.FinalizersHandler {
		if !slices.Contains(pod.Finalizers, finalizer) {
			absent = append(absent, "finalizer "+finalizer)
		}
	}
	for key, value := range hook.LabelsHandler {
		if got, ok := pod.Labels[key]; !ok || got != value {
			absent = append(absent, "label "+key+"="+value)
		}
	}
	slices.Sort(absent)
	return len(absent) == 0, strings.Join(absent, ", ")
}

func preDelete(l *appsv1beta1.Lifecycle) *appsv1beta1.LifecycleHook {
	if l == nil {
		return nil
	}
	return l.PreDelete
}

func preNormal(l *appsv1beta1.Lifecycle) *appsv1beta1.LifecycleHook {
	if l == nil {
		return nil
	}
	return l.PreNormal
}

func inPlaceUpdate(l *appsv1beta1.Lifecycle) *appsv1beta1.LifecycleHook {
	if l == nil {
		return nil
	}
	return l.InPlaceUpdate
}
