// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

const fieldOwner = "spoke-ephemeraljob"

// put puts the containers into the pods. The first that fails ends the pass: what is wrong with one is as a rule wrong
// with all. A pod that is gone meanwhile is no failure.
func (r *Reconciler) put(ctx context.Context, job *v1alpha1.EphemeralJob, list []*corev1.Pod) error {
	for _, pod := range list {
		body, err := patchOf(job, pod)
		if err != nil {
			return err
		}
		target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err = r.client.SubResource("ephemeralcontainers").Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, body), client.FieldOwner(fieldOwner))
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err): // or is another pod by now
		default:
			r.events.Publish(events.Warning(job, v1alpha1.EphemeralJobReasonCreateFailed, "CreateContainers", fmt.Sprintf("pod %s: %v", pod.Name, err)))
			return fmt.Errorf("put containers into pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// patchOf adds the containers to the list by their names; the API server refuses it where that would change one.
func patchOf(job *v1alpha1.EphemeralJob, pod *corev1.Pod) ([]byte, error) {
	list := make([]corev1.EphemeralContainer, len(job.Spec.Template.EphemeralContainers))
	for i := range list {
		job.Spec.Template.EphemeralContainers[i].DeepCopyInto(&list[i])
		list[i].Env = append(list[i].Env, corev1.EnvVar{Name: v1alpha1.EphemeralJobIDEnv, Value: string(job.UID)})
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"spec":     map[string]any{"ephemeralContainers": list},
	})
}

// writeStatus writes the status when it changed, with every counter, so that a 0 is there too.
func (r *Reconciler) writeStatus(ctx context.Context, job *v1alpha1.EphemeralJob, status *v1alpha1.EphemeralJobStatus) error {
	if equality.Semantic.DeepEqual(&job.Status, status) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": job.UID}, "status": status})
	if err != nil {
		return err
	}
	target := &v1alpha1.EphemeralJob{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldOwner))
	return client.IgnoreNotFound(err)
}

// remove deletes a job whose time is over, and nothing that was made under its name since.
func (r *Reconciler) remove(ctx context.Context, job *v1alpha1.EphemeralJob) error {
	err := r.client.Delete(ctx, job.DeepCopy(), client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// release takes off the finalizer that OpenKruise put on.
func (r *Reconciler) release(ctx context.Context, job *v1alpha1.EphemeralJob) error {
	left := slices.DeleteFunc(slices.Clone(job.Finalizers), func(f string) bool { return f == v1alpha1.EphemeralContainersCleanupFinalizer })
	if len(left) == len(job.Finalizers) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": job.UID, "resourceVersion": job.ResourceVersion, "finalizers": left}})
	if err != nil {
		return err
	}
	err = r.client.Patch(ctx, job.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(fieldOwner))
	return client.IgnoreNotFound(err)
}
