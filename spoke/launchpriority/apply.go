// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	fieldOwner = "spoke-launchpriority"
	// levelKey is the annotation by which the pod changes when a level is let go that is not the last.
	levelKey = "internal.kruise.io/container-launch-level"
)

// release puts the keys into the barrier, and then tells the kubelet by a change of the pod.
func (r *Reconciler) release(ctx context.Context, pod *corev1.Pod, step Step) error {
	if err := r.writeBarrier(ctx, pod, step); err != nil {
		return err
	}
	switch {
	case step.Reason == ReleaseLast:
		return r.annotate(ctx, pod, v1beta1.ContainerLaunchPriorityCompletedKey, "true")
	case step.Reason == Release && !step.First:
		return r.annotate(ctx, pod, levelKey, strconv.Itoa(step.Level))
	default:
		return nil
	}
}

// writeBarrier tries first what is likely: a pod of which nothing was let go has no barrier yet.
func (r *Reconciler) writeBarrier(ctx context.Context, pod *corev1.Pod, step Step) error {
	if step.First || step.Reason == Missing {
		err := r.createBarrier(ctx, pod, step)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		return r.takeBarrier(ctx, pod, step)
	}
	err := r.takeBarrier(ctx, pod, step)
	if !apierrors.IsNotFound(err) {
		return err
	}
	return r.createBarrier(ctx, pod, step)
}

// createBarrier makes the ConfigMap; it goes with the pod.
func (r *Reconciler) createBarrier(ctx context.Context, pod *corev1.Pod, step Step) error {
	barrier := barrierOf(pod)
	barrier.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	barrier.Data = dataOf(step)
	if step.final() {
		barrier.Immutable = new(true)
	}
	return r.client.Create(ctx, barrier, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
}

// takeBarrier adds to the ConfigMap that is there. One that an earlier pod of the same name left behind is replaced:
// it has that pod's keys, and goes when the garbage collector comes by.
func (r *Reconciler) takeBarrier(ctx context.Context, pod *corev1.Pod, step Step) error {
	change := map[string]any{"data": dataOf(step)}
	if step.final() {
		change["immutable"] = true
	}
	barrier := barrierOf(pod)
	err := r.patch(ctx, barrier, change) // and reads what it is then
	if apierrors.IsInvalid(err) || err == nil && !ownedBy(barrier, pod) {
		if err := r.removeBarrier(ctx, barrier); err != nil {
			return err
		}
		return r.createBarrier(ctx, pod, step)
	}
	return err
}

func ownedBy(barrier *corev1.ConfigMap, pod *corev1.Pod) bool {
	return slices.ContainsFunc(barrier.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == pod.UID })
}

// removeBarrier deletes the ConfigMap.
func (r *Reconciler) removeBarrier(ctx context.Context, barrier *corev1.ConfigMap) error {
	return client.IgnoreNotFound(r.client.Delete(ctx, barrier, client.DisableReadYourWritesConsistency))
}

func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, key, value string) error {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return r.patch(ctx, object, map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{key: value}}})
}

func (r *Reconciler) patch(ctx context.Context, object client.Object, change map[string]any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return r.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, data), client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
}

// final tells that the barrier has every key after this step.
func (s Step) final() bool { return s.Reason == ReleaseLast || s.Reason == Missing }

func barrierOf(pod *corev1.Pod) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + barrierSuffix}}
}

func dataOf(step Step) map[string]string {
	out := make(map[string]string, len(step.Keys))
	for _, k := range step.Keys {
		out[k] = "true"
	}
	return out
}
