// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package launchpriority

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		if err := r.createBarrier(ctx, pod, step); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return r.takeBarrier(ctx, pod, step)
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

// takeBarrier adds to the ConfigMap that is there, if it is the pod's: the change tests that.
func (r *Reconciler) takeBarrier(ctx context.Context, pod *corev1.Pod, step Step) error {
	change := []operation{{"test", "/metadata/ownerReferences/0/uid", pod.UID}}
	for _, k := range step.Keys {
		change = append(change, operation{"add", "/data/" + k, "true"})
	}
	if step.final() {
		change = append(change, operation{"add", "/immutable", true})
	}
	err := r.patch(ctx, barrierOf(pod), types.JSONPatchType, change)
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return r.createBarrier(ctx, pod, step)
	default:
		return r.replaceBarrier(ctx, pod, step, err)
	}
}

// replaceBarrier puts another in the place of a ConfigMap that takes no keys. One that an earlier pod of the same name
// left behind has that pod's keys, and goes when the garbage collector comes by. Whatever is neither its nor this pod's
// is somebody else's, and is left alone.
func (r *Reconciler) replaceBarrier(ctx context.Context, pod *corev1.Pod, step Step, cause error) error {
	found, err := r.look(ctx, pod)
	switch {
	case apierrors.IsNotFound(err):
		return r.createBarrier(ctx, pod, step)
	case err != nil:
		return err
	case ownedBy(found, pod) && !apierrors.IsInvalid(cause):
		return cause
	case !ofName(found, pod):
		return errTaken
	}
	if err := r.remove(ctx, found); err != nil {
		return err
	}
	return r.createBarrier(ctx, pod, step)
}

// errTaken says that the barrier's name belongs to somebody else.
var errTaken = errors.New("there is another ConfigMap of the barrier's name")

// look finds out whose ConfigMap it is, by a patch that changes nothing: that needs no right to read ConfigMaps, and what
// is in them does not come along.
func (r *Reconciler) look(ctx context.Context, pod *corev1.Pod) (*metav1.PartialObjectMetadata, error) {
	barrier := barrierOf(pod)
	found := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: barrier.Namespace, Name: barrier.Name}}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return found, r.patch(ctx, found, types.MergePatchType, map[string]any{})
}

// ownedBy tells whether a ConfigMap is this pod's, ofName whether it is, or that of an earlier pod of the same name.
func ownedBy(found *metav1.PartialObjectMetadata, pod *corev1.Pod) bool {
	return slices.ContainsFunc(found.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == pod.UID })
}

func ofName(found *metav1.PartialObjectMetadata, pod *corev1.Pod) bool {
	return slices.ContainsFunc(found.OwnerReferences, func(ref metav1.OwnerReference) bool {
		return ref.APIVersion == "v1" && ref.Kind == "Pod" && ref.Name == pod.Name
	})
}

// removeBarrier deletes the pod's own ConfigMap, and no other.
func (r *Reconciler) removeBarrier(ctx context.Context, pod *corev1.Pod) error {
	found, err := r.look(ctx, pod)
	if err != nil || !ownedBy(found, pod) {
		return client.IgnoreNotFound(err)
	}
	return r.remove(ctx, found)
}

// remove deletes the very object that was looked at. The error when it is another by now is no conflict of the pod's.
func (r *Reconciler) remove(ctx context.Context, found *metav1.PartialObjectMetadata) error {
	err := r.client.Delete(ctx, found, client.Preconditions{UID: &found.UID}, client.DisableReadYourWritesConsistency)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("ConfigMap %s was replaced meanwhile", found.Name)
	}
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) annotate(ctx context.Context, pod *corev1.Pod, key, value string) error {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return r.patch(ctx, object, types.MergePatchType, map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{key: value}}})
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (r *Reconciler) patch(ctx context.Context, object client.Object, kind types.PatchType, change any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return r.client.Patch(ctx, object, client.RawPatch(kind, data), client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
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
