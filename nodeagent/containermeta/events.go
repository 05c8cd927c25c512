// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-sh/flotilla/internal/events"
)

// EventEnvUnreadable is the reason of the event on a pod whose in-place update waits for an environment that
// the agent cannot read.
const EventEnvUnreadable = "ContainerEnvUnreadable"

// tellUnread makes a failure to read an environment known and returns when to try again. An event is sent only
// while an update waits for it, so that an image without the command env costs no writes at rest.
func (r *Reconciler) tellUnread(ctx context.Context, pod *corev1.Pod, err error) time.Duration {
	log.FromContext(ctx).V(1).Info("Cannot read environment", "reason", err.Error())
	if updating(pod) {
		r.Events.Publish(events.Warning(pod, EventEnvUnreadable, "ReadEnvironment",
			fmt.Sprintf("The in-place update waits for the %v. Does the image have the command env?", err)))
	}
	return retryEnv(pod, r.Now())
}

// retryEnv is the pause before an environment is read again: as long as the newest running container has run,
// which doubles it from try to try, within bounds.
func retryEnv(pod *corev1.Pod, now time.Time) time.Duration {
	age := maxEnvPause
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil {
			age = min(age, now.Sub(status.State.Running.StartedAt.Time))
		}
	}
	return max(age, minEnvPause)
}
