// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
	"github.com/flotilla-sh/flotilla/nodeagent/stop"
)

const fieldOwner = client.FieldOwner("nodeagent-restart")

// errChanged: what was decided on has changed; the event of the change brings the next look.
var errChanged = errors.New("the request or its pod has changed")

// patch writes fields of a request's status; a nil list is left out. With only, the write holds for the very version that
// was looked at, else for the very request. One that is gone is no error.
func (r *Reconciler) patch(ctx context.Context, req *Request, fields map[string]any, only bool) error {
	meta := map[string]any{"uid": req.UID}
	if only {
		meta["resourceVersion"] = req.ResourceVersion
	}
	body, err := json.Marshal(map[string]any{"metadata": meta, "status": fields})
	if err != nil {
		return fmt.Errorf("encode the status: %w", err)
	}
	target := &Request{}
	target.Namespace, target.Name = req.Namespace, req.Name
	err = r.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, body), fieldOwner)
	switch {
	case apierrors.IsConflict(err) && only:
		return errChanged
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case err != nil:
		return fmt.Errorf("write the status: %w", err)
	}
	req.ResourceVersion = target.ResourceVersion
	return nil
}

func (r *Reconciler) complete(ctx context.Context, req *Request, message string) error {
	fields := map[string]any{"phase": completed, "completionTime": r.Now().UTC().Format(time.RFC3339), "message": nil}
	if message != "" {
		fields["message"] = message
	}
	return r.patch(ctx, req, fields, true)
}

// stop begins the stop of a plan, after a last look, past the cache, at the request and its pod. It ends by itself.
func (r *Reconciler) stop(ctx context.Context, runtime Runtime, req *Request, plan Plan) error {
	pod, err := r.lastLook(ctx, req)
	if err != nil {
		return err
	}
	states := slices.Clone(plan.States)
	s := &states[plan.Stop.At]
	if strategyOf(req).ForceRecreate && s.Message != stopping+plan.Stop.ID {
		s.Message = stopping + plan.Stop.ID
		if err := r.patch(ctx, req, map[string]any{"containerRecreateStates": states}, true); err != nil {
			return err
		}
	}
	_, id, _ := cri.SplitID(plan.Stop.ID)
	order := stop.Order{
		Pod: pod, Container: s.Name, ID: id, Grace: graceOf(req, pod),
		Note: fmt.Sprintf("Stopping container %s by ContainerRecreateRequest %s", s.Name, req.Name),
	}
	r.background.Begin(client.ObjectKeyFromObject(pod), pod.UID, func(ctx context.Context) error {
		outcome, err := r.Stopper.Stop(ctx, runtime, order)
		stops.WithLabelValues(string(outcome)).Inc()
		if err == nil && outcome == stop.NotRunning {
			return nil // nothing was done: what has become of it, the next look tells
		}
		return r.stopped(ctx, req, states, plan.Stop.At, err)
	})
	return nil
}

// stopped writes what became of the container at a place, whose stop ended with err.
func (r *Reconciler) stopped(ctx context.Context, req *Request, states []State, at int, err error) error {
	s := &states[at]
	s.Message = ""
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, cri.ErrUnavailable):
		return err
	case err != nil:
		s.Phase, s.Message = failed, fmt.Sprintf("kill container error: %v", err)
	default:
		s.Phase, s.IsKilled = recreating, true
	}
	// The request may have ended meanwhile, by its deadline: what became of the container is told all the same.
	return r.patch(ctx, req, map[string]any{"containerRecreateStates": states}, false)
}

// lastLook makes sure that request and pod are those decided on, and returns the pod, whole.
func (r *Reconciler) lastLook(ctx context.Context, req *Request) (*corev1.Pod, error) {
	var live Request
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(req), &live); err != nil {
		return nil, orChanged(err)
	}
	same := live.UID == req.UID && live.DeletionTimestamp == nil && live.Status.Phase == recreating &&
		slices.Equal(live.Status.ContainerRecreateStates, req.Status.ContainerRecreateStates)
	if !same {
		return nil, errChanged
	}
	req.ResourceVersion = live.ResourceVersion
	var pod corev1.Pod
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Spec.PodName}, &pod); err != nil {
		return nil, orChanged(err)
	}
	if !concerns(req, &pod) || pod.Spec.NodeName != r.Node {
		return nil, errChanged
	}
	return &pod, nil
}

func orChanged(err error) error {
	if apierrors.IsNotFound(err) {
		return errChanged
	}
	return err
}

// graceOf is the grace period that a request asks for, or its pod's.
func graceOf(req *Request, pod *corev1.Pod) time.Duration {
	if n := strategyOf(req).TerminationGracePeriodSeconds; n != nil {
		return seconds.Of(*n)
	}
	return stop.GraceOf(pod)
}
