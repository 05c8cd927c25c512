// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// ConditionRuntimeUsable is the condition on the agent's own pod that is False while the agent has no container runtime
// and does nothing. Its reasons are those of the events. The agent writes it, people and alarms read it.
const ConditionRuntimeUsable corev1.PodConditionType = "flotilla.sh/ContainerRuntimeUsable"

const (
	conditionOwner = client.FieldOwner("nodeagent-runtime")
	// conditionRetry is the pause after a write that failed.
	conditionRetry = 5 * time.Second
	// sayAgain is how long another reason of the same state waits.
	sayAgain = time.Minute
	// longestMessage is in bytes.
	longestMessage = 1000
	// cure is for reasons that name none.
	cure = "--socket-file"
)

// conditionOf says in a condition what the status is, but not since when.
func conditionOf(s cri.Status) corev1.PodCondition {
	c := corev1.PodCondition{Type: ConditionRuntimeUsable}
	if s.State == cri.Up {
		c.Status, c.Reason = corev1.ConditionTrue, EventRuntimeAvailable
		c.Message = fmt.Sprintf("connected to %s %s at %s", s.Runtime.Name, s.Runtime.Version, s.Endpoint)
	} else {
		c.Status, c.Reason = corev1.ConditionFalse, EventRuntimeUnavailable
		c.Message = "the node agent does nothing on this node: " + s.Reason
		if !strings.Contains(s.Reason, cure) {
			c.Message += "; start the container runtime, or name its socket with " + cure
		}
	}
	c.Message = conditions.Cut(c.Message, longestMessage)
	return c
}

// runtimeCondition keeps the condition on the agent's own pod. It turns False when the runtime was away for long, and
// True at once; what has not changed is not written.
type runtimeCondition struct {
	statuses <-chan cri.Status
	writer   client.StatusWriter
	reader   client.Reader
	pod      client.ObjectKey
	now      func() time.Time
}

// Start runs until ctx ends.
func (c *runtimeCondition) Start(ctx context.Context) error {
	timer := time.NewTimer(noticeAfter)
	defer timer.Stop()
	due := true // the timer is set
	var last cri.Status
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-c.statuses:
			if s.State == cri.Up {
				timer.Reset(0)
			} else if last.State == cri.Up {
				timer.Reset(noticeAfter)
			} else if !due {
				timer.Reset(sayAgain)
			}
			due, last = true, s
		case <-timer.C:
			due = false
			if err := c.write(ctx, conditionOf(last)); err != nil {
				log.FromContext(ctx).Error(err, "Cannot write the condition", "pod", c.pod)
				timer.Reset(conditionRetry)
				due = true
			}
		}
	}
}

// NeedLeaderElection is false: every node has its own runtime.
func (c *runtimeCondition) NeedLeaderElection() bool { return false }

// write puts the condition on the pod where it says something else. A pod that is gone is no error.
func (c *runtimeCondition) write(ctx context.Context, want corev1.PodCondition) error {
	pod := &corev1.Pod{}
	if err := c.reader.Get(ctx, c.pod, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	want.LastTransitionTime = metav1.NewTime(c.now())
	i := slices.IndexFunc(pod.Status.Conditions, func(is corev1.PodCondition) bool { return is.Type == want.Type })
	if i >= 0 {
		is := pod.Status.Conditions[i]
		if is.Status == want.Status && is.Reason == want.Reason && is.Message == want.Message {
			return nil
		}
		if is.Status == want.Status {
			want.LastTransitionTime = is.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{want}},
	})
	if err != nil {
		return err
	}
	err = c.writer.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch), conditionOwner)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another pod by now, which has its own agent
	}
	return err
}
