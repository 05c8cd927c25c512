// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podreadiness

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/features"
)

// Gate is the step of pod admission that adds the readiness gate.
type Gate struct{}

// Name of the step.
func (Gate) Name() string { return "readiness gate" }

// Mutate adds the gate to pods of our workloads, or to all with gate KruisePodReadinessGate.
func (Gate) Mutate(_ context.Context, pod *corev1.Pod) (bool, error) {
	if !features.Enabled(features.KruisePodReadinessGate) && !ownedByUs(pod) {
		return false, nil
	}
	if hasGate(pod, appsv1beta1.KruisePodReadyConditionType) {
		return false, nil
	}
	pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: appsv1beta1.KruisePodReadyConditionType})
	return true, nil
}

func ownedByUs(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == appsv1beta1.GroupName
}

func hasGate(pod *corev1.Pod, gate corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == gate })
}

// closed returns our gates on the pod for which nobody has set a condition yet. A pod that is on its
// way to Normal is left to its workload, which opens its gates and moves it on in one write.
func closed(pod *corev1.Pod) []corev1.PodConditionType {
	preparing := pod.Labels[appsv1beta1.LifecycleStateKey] == string(appsv1beta1.LifecycleStatePreparingNormal)
	if pod.DeletionTimestamp != nil || preparing && ownedByUs(pod) {
		return nil
	}
	var out []corev1.PodConditionType
	for _, gate := range []corev1.PodConditionType{appsv1beta1.InPlaceUpdateReady, appsv1beta1.KruisePodReadyConditionType} {
		missing := !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate })
		if hasGate(pod, gate) && missing {
			out = append(out, gate)
		}
	}
	return out
}

// open is the status patch that sets the conditions True. It holds only for the very pod that was
// seen, so that a condition which somebody set in the meantime is not overwritten.
func open(pod *corev1.Pod, gates []corev1.PodConditionType, now metav1.Time) ([]byte, error) {
	type meta struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	type condition struct {
		Type               corev1.PodConditionType `json:"type"`
		Status             corev1.ConditionStatus  `json:"status"`
		LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
	}
	body := struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}{Metadata: meta{pod.UID, pod.ResourceVersion}}
	for _, gate := range gates {
		body.Status.Conditions = append(body.Status.Conditions, condition{gate, corev1.ConditionTrue, now})
	}
	return json.Marshal(body)
}
