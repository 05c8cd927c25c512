// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerrecreaterequest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/internal/readyholds"
)

const fieldOwner = client.FieldOwner("spoke-containerrecreaterequest")

// apply carries a plan out.
func (r *Reconciler) apply(ctx context.Context, req *Request, pod *corev1.Pod, plan Plan) error {
	switch {
	case plan.Release:
		return r.release(ctx, req, pod)
	case plan.Deactivate:
		return r.patch(ctx, req, map[string]any{"labels": map[string]any{v1beta1.ContainerRecreateRequestActiveKey: nil}})
	case plan.Remove:
		err := r.client.Delete(ctx, req.DeepCopy(), client.Preconditions{UID: &req.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		return ignoreGone(err)
	case plan.Complete != "":
		return r.patchStatus(ctx, req, map[string]any{
			"phase": completed, "completionTime": r.clock.Now().UTC().Format(time.RFC3339), "message": plan.Complete,
		})
	case plan.Hold:
		return r.hold(ctx, req, pod)
	case plan.Snapshot != nil:
		return r.patchStatus(ctx, req, map[string]any{"containerStatusSnapshot": plan.Snapshot})
	default:
		return nil
	}
}

// hold keeps the pod not ready, and writes down since when: the finalizer first, so that it is given back whatever
// happens. A pod that cannot be held is only waited for.
func (r *Reconciler) hold(ctx context.Context, req *Request, pod *corev1.Pod) error {
	if !holdable(pod) {
		log.FromContext(ctx).Info("The pod has no readiness gate to keep it not ready by", "pod", pod.Name, "gate", v1beta1.KruisePodReadyConditionType)
		return r.graceBegins(ctx, req)
	}
	if !slices.Contains(req.Finalizers, finalizer) {
		if err := r.patch(ctx, req, map[string]any{"finalizers": append(slices.Clone(req.Finalizers), finalizer), "resourceVersion": req.ResourceVersion}); err != nil {
			return err
		}
	}
	if err := r.setHold(ctx, req, pod, readyholds.With); err != nil {
		return err
	}
	return r.graceBegins(ctx, req)
}

// graceBegins writes the condition, into the list as it is now: it is written once.
func (r *Reconciler) graceBegins(ctx context.Context, req *Request) error {
	var live Request
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(req), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != req.UID || graceBegan(&live) {
		return nil
	}
	list := append(slices.Clone(live.Status.Conditions), metav1.Condition{
		Type: v1beta1.PreRecreateGraceCondition, Status: metav1.ConditionTrue, Reason: v1beta1.PreRecreateGraceCondition,
		Message: v1beta1.PreRecreateGraceMessage, LastTransitionTime: metav1.NewTime(r.clock.Now()),
	})
	return r.patchStatus(ctx, &live, map[string]any{"conditions": list})
}

// release gives the pod back, if it is still there, and takes the finalizer off.
func (r *Reconciler) release(ctx context.Context, req *Request, pod *corev1.Pod) error {
	if holdable(pod) && isOf(req, pod) {
		if err := r.setHold(ctx, req, pod, readyholds.Without); err != nil {
			return err
		}
	}
	left := slices.DeleteFunc(slices.Clone(req.Finalizers), func(f string) bool { return f == finalizer })
	return r.patch(ctx, req, map[string]any{"finalizers": left, "resourceVersion": req.ResourceVersion})
}

// setHold changes the list of those who hold the pod, of the version that is read here and no other.
func (r *Reconciler) setHold(ctx context.Context, req *Request, pod *corev1.Pod, change func([]readyholds.Hold, readyholds.Hold) []readyholds.Hold) error {
	var live corev1.Pod
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(pod), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != pod.UID {
		return nil
	}
	before := readyholds.Of(&live)
	after := change(slices.Clone(before), holdOf(req))
	if slices.Equal(before, after) {
		return nil
	}
	patch := podpatch.Patch{Conditions: []corev1.PodCondition{readyholds.Condition(after, r.clock.Now())}}
	body, err := patch.JSON(live.UID, live.ResourceVersion)
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(r.client.Status().Patch(ctx, &live, client.RawPatch(types.StrategicMergePatchType, body), fieldOwner))
}

// patch changes the metadata of the very request.
func (r *Reconciler) patch(ctx context.Context, req *Request, metadata map[string]any) error {
	metadata["uid"] = req.UID
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(r.client.Patch(ctx, named(req), client.RawPatch(types.MergePatchType, body), fieldOwner))
}

// patchStatus changes fields of the status, of the version that was looked at and no other.
func (r *Reconciler) patchStatus(ctx context.Context, req *Request, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": req.UID, "resourceVersion": req.ResourceVersion}, "status": status})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(r.client.Status().Patch(ctx, named(req), client.RawPatch(types.MergePatchType, body), fieldOwner))
}

func named(req *Request) *Request {
	return &Request{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
}

// ignoreGone passes over that an object is gone, or another one by now.
func ignoreGone(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
