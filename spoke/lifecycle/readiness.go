// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/readyholds"
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

// readinessPatch takes or gives back this package's keys of the shared readiness switch. It does so
// whether or not the state label changes, so that a lost write is made good on the next pass.
func readinessPatch(o Observed, to State, now time.Time) podpatch.Patch {
	var patch podpatch.Patch
	if !pods.HasReadinessGate(o.Pod, kruisePodReady) {
		return patch
	}
	holds := readyholds.Of(o.Pod)
	want := wantedHolds(slices.Clone(holds), o.Hooks, to)
	// A scheduled pod whose switch nobody has set yet is switched on along with the rest.
	fresh := pods.Condition(o.Pod, kruisePodReady) == nil && o.Pod.Spec.NodeName != ""
	if slices.Equal(holds, want) && !fresh {
		return patch
	}
	patch.Conditions = []corev1.PodCondition{readyholds.Condition(want, now)}
	return patch
}

// wantedHolds takes or gives back our keys, as the state asks for.
func wantedHolds(holds []readyholds.Hold, hooks *appsv1beta1.Lifecycle, to State) []readyholds.Hold {
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

func addIfMarked(holds []readyholds.Hold, hook *appsv1beta1.LifecycleHook, key string) []readyholds.Hold {
	if hook == nil || !hook.MarkPodNotReady {
		return holds
	}
	return add(holds, key)
}

func add(holds []readyholds.Hold, key string) []readyholds.Hold {
	return readyholds.With(holds, readyholds.Hold{UserAgent: userAgent, Key: key})
}

func drop(holds []readyholds.Hold, key string) []readyholds.Hold {
	return readyholds.Without(holds, readyholds.Hold{UserAgent: userAgent, Key: key})
}
