// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// facts is what a status is made of.
type facts struct {
	set      *appsv1beta1.CloneSet
	view     *podset.View
	waits    []podset.Wait
	selector string
	now      time.Time

	updateRevision, currentRevision string
	collisions                      *int32
	budget                          rollout.Budget
	scaleErr, updateErr             error
}

// statusOf computes the new status; requeue is when a deadline runs out, 0 when none does.
func statusOf(f *facts) (status appsv1beta1.CloneSetStatus, requeue time.Duration) {
	status = *f.set.Status.DeepCopy()
	counters(&status, f)
	status.ObservedGeneration = f.set.Generation
	status.LabelSelector = f.selector
	status.CollisionCount = f.collisions
	status.UpdateRevision, status.CurrentRevision = f.updateRevision, f.currentRevision
	status.ExpectedUpdatedReplicas = int32(f.budget.Replicas - f.budget.Partition)
	if status.UpdatedReplicas == status.Replicas && int(status.Replicas) == f.budget.Replicas {
		status.CurrentRevision = status.UpdateRevision
	}
	setFailure(&status, appsv1beta1.CloneSetConditionFailedScale, f.scaleErr, f.now)
	setFailure(&status, appsv1beta1.CloneSetConditionFailedUpdate, f.updateErr, f.now)
	setPartitionReached(&status, f)
	setWaiting(&status, f.waits, forward(&f.set.Status, &status, f.budget.Replicas), f.now)
	return status, setProgressing(&status, f)
}

// waitSelector: the selector is empty, unreadable or does not match the template.
const waitSelector = "InvalidSelector"

// refused is the status of a set that nothing is done for. Its counters are those of the last pass that looked.
func refused(set *appsv1beta1.CloneSet, message string, now time.Time) appsv1beta1.CloneSetStatus {
	status := *set.Status.DeepCopy()
	status.ObservedGeneration = set.Generation
	setWaiting(&status, []podset.Wait{{Reason: waitSelector, Message: message, Failed: true}}, false, now)
	return status
}

func counters(status *appsv1beta1.CloneSetStatus, f *facts) {
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	status.UpdatedReplicas, status.UpdatedReadyReplicas, status.UpdatedAvailableReplicas = 0, 0, 0
	for i := range f.view.Active {
		p := &f.view.Active[i]
		status.Replicas++
		count(&status.ReadyReplicas, pods.IsReady(p.Pod))
		count(&status.AvailableReplicas, p.Available)
		count(&status.UpdatedReplicas, p.Updated)
		count(&status.UpdatedReadyReplicas, p.Updated && pods.IsReady(p.Pod))
		count(&status.UpdatedAvailableReplicas, p.Updated && p.Available)
	}
}

func count(n *int32, is bool) {
	if is {
		*n++
	}
}

// setFailure keeps a failure condition while there is an error and takes it away after.
func setFailure(status *appsv1beta1.CloneSetStatus, kind string, err error, now time.Time) {
	if err == nil {
		conditions.RemoveCompat(&status.Conditions, kind)
		return
	}
	conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{
		Type: kind, Status: corev1.ConditionTrue, Message: err.Error(),
	}, metav1.NewTime(now))
}

// mostWaits and longestMessage bound the message of condition Waiting.
const (
	mostWaits      = 8
	longestMessage = 2048
)

// setWaiting tells everything that is waited for, the most telling first; its reason is the condition's. Its
// lastUpdateTime is when it began to wait for that, or when the set last moved forward; a message alone moves it not.
func setWaiting(status *appsv1beta1.CloneSetStatus, waits []podset.Wait, forward bool, now time.Time) {
	if len(waits) == 0 {
		conditions.RemoveCompat(&status.Conditions, appsv1beta1.CloneSetConditionWaiting)
		return
	}
	told := waits[:min(len(waits), mostWaits)]
	lines := make([]string, len(told), len(told)+1)
	for i := range told {
		lines[i] = describe(&told[i])
	}
	if more := len(waits) - len(told); more > 0 {
		lines = append(lines, fmt.Sprintf("%d more", more))
	}
	at := metav1.NewTime(now)
	conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{
		Type: appsv1beta1.CloneSetConditionWaiting, Status: corev1.ConditionTrue, LastUpdateTime: &at,
		Reason: waits[0].Reason, Message: conditions.Cut(strings.Join(lines, "; "), longestMessage),
	}, at)
	if forward {
		conditions.FindCompat(status.Conditions, appsv1beta1.CloneSetConditionWaiting).LastUpdateTime = &at
	}
}

// describe names at most three pods of a wait, and until when the first of them waits: a time that stands
// still, so that equal waits are written once.
func describe(w *podset.Wait) string {
	const named = 3
	text := w.Message
	n := len(w.Pods)
	switch {
	case n == 0:
	case n <= named:
		text = fmt.Sprintf("%s (%s)", text, strings.Join(w.Pods, ", "))
	default:
		text = fmt.Sprintf("%s (%s and %d more)", text, strings.Join(w.Pods[:named], ", "), n-named)
	}
	if w.Until.IsZero() {
		return text
	}
	until := w.Until.UTC().Format(time.RFC3339)
	if n > 1 {
		return text + ", the first until " + until
	}
	return text + ", until " + until
}

// setProgressing decides condition Progressing; the first rule that holds wins.
func setProgressing(status *appsv1beta1.CloneSetStatus, f *facts) time.Duration {
	deadline, ok := deadlineSeconds(f.set)
	if !ok {
		conditions.RemoveCompat(&status.Conditions, appsv1beta1.CloneSetConditionProgressing)
		return 0
	}
	want := int32(f.budget.Replicas)
	rolling := f.set.Spec.UpdateStrategy.RollingUpdate
	set := func(s corev1.ConditionStatus, reason, message string) {
		now := metav1.NewTime(f.now)
		conditions.SetCompat(&status.Conditions, appsv1beta1.Condition{
			Type: appsv1beta1.CloneSetConditionProgressing, Status: s, Reason: reason, Message: message, LastUpdateTime: &now,
		}, now)
	}
	switch {
	case status.CurrentRevision == status.UpdateRevision && status.Replicas == want &&
		status.UpdatedReplicas == want && status.UpdatedAvailableReplicas == want:
		set(corev1.ConditionTrue, appsv1beta1.CloneSetAvailable, "CloneSet is available")
		return 0
	case rolling != nil && rolling.Paused:
		set(corev1.ConditionTrue, appsv1beta1.CloneSetProgressPaused, "CloneSet is paused")
		return 0
	case status.ExpectedUpdatedReplicas < want && status.ExpectedUpdatedReplicas <= status.UpdatedAvailableReplicas:
		set(corev1.ConditionTrue, appsv1beta1.CloneSetProgressPartitionAvailable, "CloneSet has been paused due to partition ready")
		return 0
	}
	left := deadlineLeft(status, deadline, f.now)
	if left <= 0 {
		set(corev1.ConditionFalse, appsv1beta1.CloneSetProgressDeadlineExceeded,
			fmt.Sprintf("CloneSet revision %s has timed out progressing", status.UpdateRevision))
		return 0
	}
	set(corev1.ConditionTrue, appsv1beta1.CloneSetProgressUpdated, "CloneSet is progressing")
	return left
}

// deadlineLeft is the time until the deadline of the phase under way, 0 when it has run out.
func deadlineLeft(status *appsv1beta1.CloneSetStatus, seconds int32, now time.Time) time.Duration {
	whole := time.Duration(seconds) * time.Second
	c := conditions.FindCompat(status.Conditions, appsv1beta1.CloneSetConditionProgressing)
	switch {
	case c == nil:
		return whole
	case c.Reason == appsv1beta1.CloneSetProgressDeadlineExceeded:
		return 0
	case c.Reason != appsv1beta1.CloneSetProgressUpdated || c.LastUpdateTime == nil:
		// Another phase ended just now: the clock starts anew.
		return whole
	}
	left := c.LastUpdateTime.Add(whole).Sub(now)
	if left >= time.Second {
		return left + time.Second
	}
	return max(left, 0)
}

// onlyCounters says whether two statuses differ in nothing but numbers of pods and what is waited
// for: such a change may come a little later.
func onlyCounters(a, b *appsv1beta1.CloneSetStatus) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, s := range []*appsv1beta1.CloneSetStatus{x, y} {
		s.Replicas, s.ReadyReplicas, s.AvailableReplicas = 0, 0, 0
		s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = 0, 0, 0
		conditions.RemoveCompat(&s.Conditions, appsv1beta1.CloneSetConditionWaiting)
	}
	return equality.Semantic.DeepEqual(x, y)
}
