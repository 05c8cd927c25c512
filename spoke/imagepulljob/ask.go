// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

const (
	// neverKept is how long a node keeps a tag of a job of type Never after its end; neverSpread is how much more or
	// less, so that not all pull anew at once.
	neverKept, neverSpread = 24 * time.Hour, 10 * time.Minute
	// neverDeadline is the least time that a node has for such a job, in seconds.
	neverDeadline = 1800
	// alwaysSpread is up to how much is added to how long tags of other jobs are kept, in seconds.
	alwaysSpread = 300
)

// Terms are what a job asks of a node beside the image.
type Terms struct {
	// Others are the jobs under way that ask for the same tag on this node.
	Others []*v1beta1.ImagePullJob
	// DefaultTTL is added to how long a tag of a job of type Always is kept. Seconds.
	DefaultTTL int32
	// Spread is between 0 and 1.
	Spread float64
}

// Ask writes into a NodeImage what the job asks of the node, and tells whether that is news. A tag that others ask for
// gets another version: it is pulled again, or found to be there.
func Ask(node *v1beta1.NodeImage, s Snapshot, terms Terms) bool {
	if node.Spec.Images == nil {
		node.Spec.Images = map[string]v1beta1.ImageSpec{}
	}
	image := node.Spec.Images[s.Image.Name]
	changed := addSecrets(&image, s.Secrets)
	if tag := node.TagSpec(s.Image.Name, s.Image.Tag); tag == nil || !tag.OwnedBy(s.Job.UID) {
		image.Tags = askTag(node, image.Tags, s, terms)
		changed = true
	}
	if changed {
		image.SandboxConfig = s.Job.Spec.SandboxConfig.DeepCopy()
		node.Spec.Images[s.Image.Name] = image
	}
	return changed
}

// addSecrets adds what an image is to be pulled with, and tells whether that is news.
func addSecrets(image *v1beta1.ImageSpec, secrets []v1beta1.ReferenceObject) bool {
	changed := false
	for _, ref := range secrets {
		if !refers(image.PullSecrets, ref) {
			image.PullSecrets = append(image.PullSecrets, ref)
			changed = true
		}
	}
	return changed
}

func refers(list []v1beta1.ReferenceObject, ref v1beta1.ReferenceObject) bool {
	return slices.ContainsFunc(list, func(r v1beta1.ReferenceObject) bool { return r.Namespace == ref.Namespace && r.Name == ref.Name })
}

func askTag(node *v1beta1.NodeImage, tags []v1beta1.ImageTagSpec, s Snapshot, terms Terms) []v1beta1.ImageTagSpec {
	i := slices.IndexFunc(tags, func(t v1beta1.ImageTagSpec) bool { return t.Tag == s.Image.Tag })
	if i < 0 {
		i, tags = len(tags), append(tags, v1beta1.ImageTagSpec{Tag: s.Image.Tag, Version: nextVersion(node, s)})
	} else {
		tags[i].Version++
	}
	tag := &tags[i]
	policy := policyOf(append(slices.Clip(terms.Others), s.Job))
	policy.TTLSecondsAfterFinished = ptr.To(keptFor(s.Job, terms))
	if tag.PullPolicy != nil && tag.PullPolicy.TTLSecondsAfterFinished != nil {
		policy.TTLSecondsAfterFinished = ptr.To(max(*policy.TTLSecondsAfterFinished, *tag.PullPolicy.TTLSecondsAfterFinished))
	}
	tag.PullPolicy, tag.CreatedAt, tag.ImagePullPolicy = &policy, ptr.To(metav1.NewTime(s.Now).Rfc3339Copy()), s.Job.Spec.ImagePullPolicy
	tag.OwnerReferences = append(tag.OwnerReferences, corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "ImagePullJob",
		Namespace: s.Job.Namespace, Name: s.Job.Name, UID: s.Job.UID,
	})
	slices.SortStableFunc(tags, func(a, b v1beta1.ImageTagSpec) int { return cmp.Compare(a.Tag, b.Tag) })
	return tags
}

// nextVersion follows on what the node's status yet says of the tag.
func nextVersion(node *v1beta1.NodeImage, s Snapshot) int64 {
	for _, status := range node.Status.ImageStatuses[s.Image.Name].Tags {
		if status.Tag == s.Image.Tag {
			return status.Version + 1
		}
	}
	return 0
}

// policyOf is the policy of a tag that these jobs ask for: the most patient of them decides. How long the tag is kept is
// left open.
func policyOf(jobs []*v1beta1.ImagePullJob) v1beta1.ImageTagPullPolicy {
	var timeout, backoff int32
	var deadline int64
	bounded := true
	for _, job := range jobs {
		t := ptr.Deref(job.Spec.PullPolicy.TimeoutSeconds, v1beta1.DefaultPullTimeoutSeconds)
		timeout = max(timeout, t)
		backoff = max(backoff, ptr.Deref(job.Spec.PullPolicy.BackoffLimit, v1beta1.DefaultPullBackoffLimit))
		switch completion := job.Spec.CompletionPolicy; {
		case completion.Type == v1beta1.CompletionPolicyNever:
			deadline = max(deadline, neverDeadline, int64(t))
		case completion.ActiveDeadlineSeconds != nil:
			deadline = max(deadline, *completion.ActiveDeadlineSeconds)
		default:
			bounded = false
		}
	}
	out := v1beta1.ImageTagPullPolicy{TimeoutSeconds: &timeout, BackoffLimit: &backoff}
	if bounded {
		out.ActiveDeadlineSeconds = &deadline
	}
	return out
}

// keptFor is how long a node keeps the tag after its end. Seconds.
func keptFor(job *v1beta1.ImagePullJob, terms Terms) int32 {
	completion, pull := job.Spec.CompletionPolicy, job.Spec.PullPolicy
	if completion.Type == v1beta1.CompletionPolicyNever {
		return int32((neverKept + time.Duration((2*terms.Spread-1)*float64(neverSpread))).Seconds())
	}
	var kept int64
	switch {
	case completion.TTLSecondsAfterFinished != nil:
		kept = int64(*completion.TTLSecondsAfterFinished)
	case completion.ActiveDeadlineSeconds != nil:
		kept = *completion.ActiveDeadlineSeconds
	default:
		kept = int64(*pull.TimeoutSeconds) * int64(*pull.BackoffLimit)
	}
	const most = 1 << 30
	return int32(min(most, min(most, kept)+int64(terms.DefaultTTL)+int64(terms.Spread*alwaysSpread))) //nolint:gosec // bounded
}

// Adjust brings the policy of a tag that is being pulled to what the jobs under way say now, adds pull secrets that came
// late, and tells whether that changed anything.
func Adjust(node *v1beta1.NodeImage, s Snapshot, others []*v1beta1.ImagePullJob) bool {
	tag := node.TagSpec(s.Image.Name, s.Image.Tag)
	if tag == nil || !tag.OwnedBy(s.Job.UID) {
		return false
	}
	adjusted := adjustPolicy(tag, append(slices.Clip(others), s.Job))
	image := node.Spec.Images[s.Image.Name]
	if !addSecrets(&image, s.Secrets) {
		return adjusted
	}
	node.Spec.Images[s.Image.Name] = image
	return true
}

func adjustPolicy(tag *v1beta1.ImageTagSpec, jobs []*v1beta1.ImagePullJob) bool {
	if tag.PullPolicy == nil {
		return false
	}
	want := policyOf(jobs)
	want.TTLSecondsAfterFinished = tag.PullPolicy.TTLSecondsAfterFinished
	if same(tag.PullPolicy.TimeoutSeconds, want.TimeoutSeconds) && same(tag.PullPolicy.BackoffLimit, want.BackoffLimit) &&
		same(tag.PullPolicy.ActiveDeadlineSeconds, want.ActiveDeadlineSeconds) {
		return false
	}
	tag.PullPolicy = &want
	return true
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func compare(a, b string) int { return cmp.Compare(a, b) }
