// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containerrecreaterequest

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/readyholds"
	"github.com/flotilla-sh/flotilla/internal/seconds"
)

// What the package works on.
type (
	// Request is what somebody asks for.
	Request = v1beta1.ContainerRecreateRequest
	// Snapshot is the new instance of one container.
	Snapshot = v1beta1.ContainerRecreateRequestContainerStatus
)

const (
	// responseTime is how long the agent may take to see a request.
	responseTime = time.Minute
	// pollEvery is how often the instances of a request under way are looked at without an event.
	pollEvery = 3 * time.Second
	// userAgent names the holder of a pod that is kept not ready.
	userAgent = "ContainerRecreateRequest"

	// podEnded is why a request ends whose pod has, beside the reasons that OpenKruise knows.
	podEnded = "pod has ended"

	finalizer = v1beta1.ContainerRecreateRequestUnreadyAcquiredKey
	completed = v1beta1.ContainerRecreateRequestCompleted
)

// Plan is what there is to do for one request. At most one of Release, Deactivate, Remove, Complete and Hold is set; they
// are steps, each of which brings the next pass.
type Plan struct {
	// Release: give the pod back, and take the finalizer off.
	Release bool
	// Deactivate: take the label off by which agents find the request.
	Deactivate bool
	// Remove: delete the request.
	Remove bool
	// Complete says why the request ends, if it does.
	Complete string
	// Hold: keep the pod not ready, and write down since when.
	Hold bool
	// Snapshot is what to write of the new instances, nil for no write.
	Snapshot []Snapshot
	// Again is when to look again without an event; 0 for never.
	Again time.Duration
}

// MakePlan decides from a request and its pod; nil when there is none of that name.
func MakePlan(r *Request, pod *corev1.Pod, now time.Time) Plan {
	if r.DeletionTimestamp != nil || r.Status.Phase == completed {
		return afterEnd(r, now)
	}
	if pod == nil || pod.DeletionTimestamp != nil || !isOf(r, pod) {
		return Plan{Complete: v1beta1.ContainerRecreateRequestPodGone}
	}
	if over(r, pod) {
		return Plan{Complete: podEnded}
	}
	left, why := timeLeft(r, now)
	if left != nil && *left <= 0 {
		return Plan{Complete: why}
	}
	var p Plan
	if left != nil {
		p.Again = *left
	}
	if r.Status.Phase == v1beta1.ContainerRecreateRequestRecreating {
		p.underWay(r, pod)
	}
	return p
}

// underWay is what there is to do while the agent restarts containers.
func (p *Plan) underWay(r *Request, pod *corev1.Pod) {
	if r.Spec.Strategy != nil && r.Spec.Strategy.UnreadyGracePeriodSeconds != nil && !graceBegan(r) {
		p.Hold = true
		return
	}
	if seen := snapshotOf(r, pod); !slices.Equal(seen, r.Status.ContainerStatusSnapshot) && len(seen) > 0 {
		p.Snapshot = seen
	}
	if p.Again == 0 || p.Again > pollEvery {
		p.Again = pollEvery
	}
}

// afterEnd cleans up after a request that has ended or is deleted.
func afterEnd(r *Request, now time.Time) Plan {
	_, active := r.Labels[v1beta1.ContainerRecreateRequestActiveKey]
	switch {
	case controllerutil.ContainsFinalizer(r, finalizer):
		return Plan{Release: true}
	case r.DeletionTimestamp != nil:
		return Plan{}
	case active:
		return Plan{Deactivate: true}
	case r.Spec.TTLSecondsAfterFinished == nil:
		return Plan{}
	}
	end := r.CreationTimestamp.Time
	if r.Status.CompletionTime != nil {
		end = r.Status.CompletionTime.Time
	}
	left := end.Add(seconds.Of(*r.Spec.TTLSecondsAfterFinished)).Sub(now)
	return Plan{Remove: left <= 0, Again: max(left, 0)}
}

// isOf tells that the request was made for this very pod.
func isOf(r *Request, pod *corev1.Pod) bool {
	return r.Labels[v1beta1.ContainerRecreateRequestPodUIDKey] == string(pod.UID)
}

// over tells that the pod has ended, and none of the request's containers runs on: nothing in it is started again. A pod
// may have ended before its sidecars, which are what some requests are to end.
func over(r *Request, pod *corev1.Pod) bool {
	return pods.IsFinished(pod) && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		asked := slices.ContainsFunc(r.Spec.Containers, func(c v1beta1.ContainerRecreateRequestContainer) bool { return c.Name == s.Name })
		return asked && s.State.Running != nil
	})
}

// timeLeft is how long the request may go on as it is, and why it ends then; nil for ever.
func timeLeft(r *Request, now time.Time) (left *time.Duration, why string) {
	age := now.Sub(r.CreationTimestamp.Time)
	if r.Status.Phase == "" {
		left, why = new(responseTime-age), v1beta1.ContainerRecreateRequestNoResponse
	}
	if n := r.Spec.ActiveDeadlineSeconds; n != nil {
		if d := seconds.Of(*n) - age; left == nil || d < *left {
			left, why = &d, v1beta1.ContainerRecreateRequestDeadlineExceeded
		}
	}
	return left, why
}

func graceBegan(r *Request) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.PreRecreateGraceCondition })
}

// snapshotOf are the containers of the request, in its order, that run in another instance than it was made for.
func snapshotOf(r *Request, pod *corev1.Pod) []Snapshot {
	var out []Snapshot
	for i := range r.Spec.Containers {
		c := &r.Spec.Containers[i]
		at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if at < 0 {
			continue
		}
		s := &pod.Status.ContainerStatuses[at]
		was := c.StatusContext
		if s.State.Running == nil || was == nil || s.ContainerID == was.ContainerID && s.RestartCount <= was.RestartCount {
			continue
		}
		out = append(out, Snapshot{Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount, ContainerID: s.ContainerID})
	}
	return out
}

// holdOf is the entry by which a request holds its pod.
func holdOf(r *Request) readyholds.Hold {
	return readyholds.Hold{UserAgent: userAgent, Key: r.Namespace + "/" + r.Name}
}

// holdable tells that a pod can be held not ready.
func holdable(pod *corev1.Pod) bool {
	return pod != nil && pods.IsActive(pod) && pods.HasReadinessGate(pod, v1beta1.KruisePodReadyConditionType)
}
