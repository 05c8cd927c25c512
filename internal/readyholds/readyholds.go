// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package readyholds

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Hold is one entry of the message: who keeps the pod not ready, and for what.
type Hold struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// Of reads who holds a pod; a message that is no such list counts as nobody.
func Of(pod *corev1.Pod) []Hold {
	c := pods.Condition(pod, appsv1beta1.KruisePodReadyConditionType)
	if c == nil || c.Message == "" || c.Message == "[]" {
		return nil
	}
	var holds []Hold
	if err := json.Unmarshal([]byte(c.Message), &holds); err != nil {
		return nil
	}
	return holds
}

// With returns the list with the hold in its place; the list given is not to be used afterwards.
func With(holds []Hold, hold Hold) []Hold {
	if slices.Contains(holds, hold) {
		return holds
	}
	holds = append(holds, hold)
	slices.SortFunc(holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	return holds
}

// Without returns the list without the hold; the list given is not to be used afterwards.
func Without(holds []Hold, hold Hold) []Hold {
	return slices.DeleteFunc(holds, func(h Hold) bool { return h == hold })
}

// Condition is the condition that says who holds the pod.
func Condition(holds []Hold, now time.Time) corev1.PodCondition {
	message, err := json.Marshal(holds)
	if err != nil || holds == nil {
		message = []byte("[]")
	}
	status := corev1.ConditionTrue
	if len(holds) > 0 {
		status = corev1.ConditionFalse
	}
	return corev1.PodCondition{
		Type: appsv1beta1.KruisePodReadyConditionType, Status: status, Message: string(message),
		LastTransitionTime: metav1.NewTime(now),
	}
}
