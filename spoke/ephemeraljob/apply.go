// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

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

// put puts the containers into the pods, and notes those that cannot have them: they hold up no others.
func (r *Reconciler) put(ctx context.Context, job *v1alpha1.EphemeralJob, list []*corev1.Pod, refused Refusals) (again time.Duration, err error) {
	var errs []error
	for _, pod := range list {
		err := r.putInto(ctx, job, pod)
		switch {
		case err == nil:
			continue
		case apierrors.IsInvalid(err):
			refused[pod.UID], again = refusal{final: true}, soon
		default:
			refused[pod.UID] = refusal{until: r.clock.Now().Add(aside)}
			errs = append(errs, fmt.Errorf("put containers into pod %s: %w", pod.Name, err))
		}
		r.events.Publish(events.Warning(job, v1alpha1.EphemeralJobReasonCreateFailed, "CreateContainers", fmt.Sprintf("pod %s: %v", pod.Name, err)))
		if len(errs) == mostErrors {
			break
		}
	}
	return again, errors.Join(errs...)
}

// putInto puts the containers into one pod. That it is gone meanwhile, or is another by now, is no failure.
func (r *Reconciler) putInto(ctx context.Context, job *v1alpha1.EphemeralJob, pod *corev1.Pod) error {
	body, err := patchOf(job, pod)
	if err != nil {
		return err
	}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err = r.client.SubResource("ephemeralcontainers").Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, body), client.FieldOwner(fieldOwner))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
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
