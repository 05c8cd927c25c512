// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	userAgent       = "Lifecycle"
	preDeleteKey    = "preDeleteHook"
	preUpdateKey    = "preUpdateHook"
	kruisePodReady  = appsv1beta1.KruisePodReadyConditionType
	preparingNormal = appsv1beta1.LifecycleStatePreparingNormal
	preparingUpdate = appsv1beta1.LifecycleStatePreparingUpdate
	preparingDelete = appsv1beta1.LifecycleStatePreparingDelete
	updatedState    = appsv1beta1.LifecycleStateUpdated
	normalState     = appsv1beta1.LifecycleStateNormal
)

// hold is one entry of the message of condition KruisePodReady: who keeps the pod not ready.
type hold struct {
	UserAgent string `json:"userAgent"`
	Key       string `json:"key"`
}

// readinessPatch takes or gives back this package's keys of the shared readiness switch. It does so
// whether or not the state label changes, so that a lost write is made good on the next pass.
func readinessPatch(o Observed, to State, now time.Time) podpatch.Patch {
	var patch podpatch.Patch
	if !pods.HasReadinessGate(o.Pod, kruisePodReady) {
		return patch
	}
	holds := readHolds(o.Pod)
	want := wantedHolds(slices.Clone(holds), o.Hooks, to)
	// A scheduled pod whose switch nobody has set yet is switched on along with the rest.
	fresh := pods.Condition(o.Pod, kruisePodReady) == nil && o.Pod.Spec.NodeName != ""
	if slices.Equal(holds, want) && !fresh {
		return patch
	}
	patch.Conditions = []corev1.PodCondition{condition(want, now)}
	return patch
}

// wantedHolds takes or gives back our keys, as the state asks for.
func wantedHolds(holds []hold, hooks *appsv1beta1.Lifecycle, to State) []hold {
	switch to {
	case preparingDelete:
		return addIfMarked(holds, preDelete(hooks), preDeleteKey)
	case preparingUpdate:
		return addIfMarked(holds, inPlaceUpdate(hooks), preUpdateKey)
	case preparingNormal:
		return drop(holds, preDeleteKey)
	case updatedState:
		return drop(holds, preUpdateKey)
	case normalState:
		return drop(drop(holds, preUpdateKey), preDeleteKey)
	default:
		return holds
	}
}

func addIfMarked(holds []hold, hook *appsv1beta1.LifecycleHook, key string) []hold {
	if hook == nil || !hook.MarkPodNotReady {
		return holds
	}
	return add(holds, key)
}

func condition(holds []hold, now time.Time) corev1.PodCondition {
	message, err := json.Marshal(holds)
	if err != nil || holds == nil {
		message = []byte("[]")
	}
	status := corev1.ConditionTrue
	if len(holds) > 0 {
		status = corev1.ConditionFalse
	}
	return corev1.PodCondition{
		Type: kruisePodReady, Status: status, Message: string(message),
		LastTransitionTime: metav1.NewTime(now),
	}
}

// readHolds reads the list from the condition's message; what is no such list counts as empty.
func readHolds(pod *corev1.Pod) []hold {
	c := pods.Condition(pod, kruisePodReady)
	if c == nil || c.Message == "" || c.Message == "[]" {
		return nil
	}
	var holds []hold
	if err := json.Unmarshal([]byte(c.Message), &holds); err != nil {
		return nil
	}
	return holds
}

func add(holds []hold, key string) []hold {
	entry := hold{UserAgent: userAgent, Key: key}
	if slices.Contains(holds, entry) {
		return holds
	}
	holds = append(holds, entry)
	slices.SortFunc(holds, func(a, b hold) int {
		return cmp.Or(cmp.Compare(a.UserAgent, b.UserAgent), cmp.Compare(a.Key, b.Key))
	})
	return holds
}

func drop(holds []hold, key string) []hold {
	return slices.DeleteFunc(holds, func(h hold) bool { return h == hold{UserAgent: userAgent, Key: key} })
}
