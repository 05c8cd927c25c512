// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

const (
	// silence is how long an agent may say nothing of a tag, and how late it may be after a deadline.
	silence = 10 * time.Minute
	// pause is the longest between two attempts of an agent. Seconds.
	pause = 30
)

// Failure is a tag that is given up in the agent's place.
type Failure struct {
	Image, Tag, Message string
	Owners              []corev1.ObjectReference
}

// GiveUp returns the status with the tags failed that the agent left alone, which they are, and when to look again. With
// no failures the status is as it was. The node may be nil: then nothing is known of it.
func GiveUp(obj *appsv1beta1.NodeImage, node *corev1.Node, now time.Time) (appsv1beta1.NodeImageStatus, []Failure, time.Duration) {
	var failures []Failure
	var wait time.Duration
	status, lost := obj.Status.DeepCopy(), lostSince(node)
	for name, image := range obj.Spec.Images {
		for i := range image.Tags {
			tag := &image.Tags[i]
			message, left := overdue(obj, name, tag, lost, now)
			wait = steps.Sooner(wait, left)
			if message == "" {
				continue
			}
			failures = append(failures, Failure{name, tag.Tag, message, tag.OwnerReferences})
			fail(status, name, tag, message, metav1.NewTime(now).Rfc3339Copy())
		}
	}
	if len(failures) == 0 {
		return obj.Status, nil, wait
	}
	dropStatuses(status, obj)
	status.CountStatus(&obj.Spec)
	return *status, failures, wait
}

// lostSince is since when nobody has heard of the node; nil: it is heard of.
func lostSince(node *corev1.Node) *time.Time {
	if node == nil {
		return nil
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown {
			return &c.LastTransitionTime.Time
		}
	}
	return nil
}

// overdue says why a tag is given up, or when it would be. lost is since when its node is.
func overdue(obj *appsv1beta1.NodeImage, image string, tag *appsv1beta1.ImageTagSpec, lost *time.Time, now time.Time) (string, time.Duration) {
	if tag.CreatedAt == nil {
		return "", 0
	}
	status := obj.TagStatus(image, tag.Tag, tag.Version)
	if status != nil && status.CompletionTime != nil {
		return "", 0
	}
	at, message := tag.CreatedAt.Add(silence), appsv1beta1.ImageNodeSilentMessage
	if status != nil {
		at, message = endsAt(obj, tag, status)
		if lost != nil {
			if gone := later(*lost, tag.CreatedAt.Time).Add(silence); gone.Before(at) {
				at, message = gone, appsv1beta1.ImageNodeSilentMessage
			}
		}
	}
	if left := at.Sub(now); left > 0 {
		return "", left
	}
	return message, 0
}

// endsAt is when an agent that is alive would have told of an end, and what it means if it has not. Without a deadline
// its attempts bound a tag. It takes turns with those that are pulled beside it, at worst at one place: until then all of
// them may have used up their attempts. Those that an agent left alone took none.
func endsAt(obj *appsv1beta1.NodeImage, tag *appsv1beta1.ImageTagSpec, status *appsv1beta1.ImageTagStatus) (time.Time, string) {
	if p := tag.PullPolicy; p != nil && p.ActiveDeadlineSeconds != nil {
		return tag.CreatedAt.Add(seconds.Of(*p.ActiveDeadlineSeconds) + silence), appsv1beta1.ImageDeadlineMessage
	}
	since := tag.CreatedAt.Time
	if status.StartTime != nil {
		since = later(since, status.StartTime.Time)
	}
	var turns time.Duration
	for name, image := range obj.Spec.Images {
		for i := range image.Tags {
			if tookTurns(obj.TagStatus(name, image.Tags[i].Tag, image.Tags[i].Version), since) {
				turns = min(seconds.Most, turns+attemptsOf(image.Tags[i].PullPolicy))
			}
		}
	}
	return since.Add(turns + silence), appsv1beta1.ImageNodeSilentMessage
}

func tookTurns(status *appsv1beta1.ImageTagStatus, since time.Time) bool {
	return status == nil || status.CompletionTime == nil ||
		status.CompletionTime.After(since) && status.Message != appsv1beta1.ImageNodeSilentMessage
}

// attemptsOf is how long all attempts at a tag may take, with the pauses between.
func attemptsOf(policy *appsv1beta1.ImageTagPullPolicy) time.Duration {
	timeout, backoff := int64(appsv1beta1.DefaultPullTimeoutSeconds), int64(appsv1beta1.DefaultPullBackoffLimit)
	if policy != nil {
		if t := ptr.Deref(policy.TimeoutSeconds, 0); t > 0 {
			timeout = int64(t)
		}
		if b := ptr.Deref(policy.BackoffLimit, -1); b >= 0 {
			backoff = int64(b)
		}
	}
	return seconds.Of((timeout + pause) * (backoff + 1))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fail puts the failed tag into the status, in place of what it says of the tag.
func fail(status *appsv1beta1.NodeImageStatus, image string, tag *appsv1beta1.ImageTagSpec, message string, now metav1.Time) {
	entry := appsv1beta1.ImageTagStatus{Tag: tag.Tag, Version: tag.Version}
	var tags []appsv1beta1.ImageTagStatus
	for _, s := range status.ImageStatuses[image].Tags {
		if s.Tag != tag.Tag {
			tags = append(tags, s)
		} else if s.Version == tag.Version {
			entry = s
		}
	}
	entry.Phase, entry.Message, entry.CompletionTime = appsv1beta1.ImagePhaseFailed, message, &now
	if status.ImageStatuses == nil {
		status.ImageStatuses = map[string]appsv1beta1.ImageStatus{}
	}
	status.ImageStatuses[image] = appsv1beta1.ImageStatus{Tags: sortTags(append(tags, entry))}
}

// dropStatuses leaves out what is no longer asked for.
func dropStatuses(status *appsv1beta1.NodeImageStatus, obj *appsv1beta1.NodeImage) {
	for name, image := range status.ImageStatuses {
		var tags []appsv1beta1.ImageTagStatus
		for _, s := range image.Tags {
			if obj.TagSpec(name, s.Tag) != nil {
				tags = append(tags, s)
			}
		}
		if len(tags) == 0 {
			delete(status.ImageStatuses, name)
			continue
		}
		status.ImageStatuses[name] = appsv1beta1.ImageStatus{Tags: tags}
	}
}
