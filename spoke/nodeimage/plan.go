// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// Step is what is to be done about the object as a whole.
type Step string

// The steps.
const (
	Keep   Step = "Keep"
	Create Step = "Create"
	Delete Step = "Delete"
	Wait   Step = "Wait"
	None   Step = "None"
)

// Decide compares a node with its NodeImage; either may be nil. With Wait it says for how long.
func Decide(node *corev1.Node, obj *appsv1beta1.NodeImage, delay time.Duration, now time.Time) (Step, time.Duration) {
	if node != nil && node.DeletionTimestamp != nil {
		node = nil
	}
	if obj == nil {
		return decideNew(node, delay, now)
	}
	_, fake := obj.Labels[appsv1beta1.FakeNodeImageLabel]
	switch {
	case obj.DeletionTimestamp != nil:
		return None, 0
	case !fake && (node == nil || outlived(obj, node)):
		return Delete, 0
	default:
		return Keep, 0
	}
}

// outlived tells that the object is of an earlier node of the same name, whose end nobody saw: one is made only after its
// node. What the agent of that machine pulled is not on this one.
func outlived(obj *appsv1beta1.NodeImage, node *corev1.Node) bool {
	return obj.CreationTimestamp.Time.Before(node.CreationTimestamp.Time)
}

func decideNew(node *corev1.Node, delay time.Duration, now time.Time) (Step, time.Duration) {
	if node == nil || node.Labels[appsv1beta1.NodeTypeLabel] == appsv1beta1.VirtualKubeletNodeType {
		return None, 0
	}
	since, ready := readySince(node)
	if !ready {
		return None, 0 // its next change wakes us
	}
	if left := since.Add(delay).Sub(now); left > 0 {
		return Wait, left
	}
	return Create, 0
}

func readySince(node *corev1.Node) (time.Time, bool) {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// LabelsFor returns the labels that the NodeImage should have: the node's, and the mark of a fake one. Without a node
// they stay.
func LabelsFor(node *corev1.Node, obj *appsv1beta1.NodeImage) map[string]string {
	if node == nil {
		return obj.Labels
	}
	out := maps.Clone(node.Labels)
	if v, fake := obj.Labels[appsv1beta1.FakeNodeImageLabel]; fake {
		if out == nil {
			out = map[string]string{}
		}
		out[appsv1beta1.FakeNodeImageLabel] = v
	}
	return out
}

// Known answers whether what a NodeImage refers to is there.
type Known struct {
	// Owner tells whether a job is there, with this very uid. It is asked about ImagePullJobs only.
	Owner func(corev1.ObjectReference) bool
	// Waits tells whether such a job yet waits for nodes: until all have an end, none must be forgotten.
	Waits func(corev1.ObjectReference) bool
	// Secret tells whether a Secret is there.
	Secret func(appsv1beta1.ReferenceObject) bool
}

// Clean returns what is asked for without what nobody asks for any more, and when to look again (0: at the next event).
func Clean(obj *appsv1beta1.NodeImage, known Known, now time.Time) (map[string]appsv1beta1.ImageSpec, time.Duration) {
	var wait time.Duration
	out := map[string]appsv1beta1.ImageSpec{}
	for name, image := range obj.Spec.Images {
		kept := image
		kept.Tags, kept.PullSecrets = nil, nil
		for i := range image.Tags {
			tag, left := cleanTag(obj, name, image.Tags[i], known, now)
			if tag != nil {
				kept.Tags = append(kept.Tags, *tag)
				wait = steps.Sooner(wait, left)
			}
		}
		if len(kept.Tags) == 0 {
			continue
		}
		for _, ref := range image.PullSecrets {
			// A copy that was made just now may not be seen yet; but then there is something to pull with it.
			if ref.Mode == appsv1beta1.PullSecretModeBatch && !ended(obj, name, kept.Tags) || known.Secret(ref) {
				kept.PullSecrets = append(kept.PullSecrets, ref)
			}
		}
		out[name] = kept
	}
	return out, wait
}

func cleanTag(obj *appsv1beta1.NodeImage, image string, tag appsv1beta1.ImageTagSpec, known Known, now time.Time) (*appsv1beta1.ImageTagSpec, time.Duration) {
	owners := cleanOwners(tag.OwnerReferences, known)
	if tag.CreatedAt == nil || len(owners) == 0 && len(tag.OwnerReferences) > 0 {
		return nil, 0
	}
	tag.OwnerReferences = owners
	over, ends := overAt(obj, image, &tag)
	switch {
	case !ends:
		return &tag, 0
	case over.After(now):
		return &tag, over.Sub(now)
	case slices.ContainsFunc(owners, func(o corev1.ObjectReference) bool { return isJob(o) && known.Waits(o) }):
		return &tag, held
	default:
		return nil, 0
	}
}

// cleanOwners leaves out the jobs that are gone. Who else is named stays.
func cleanOwners(owners []corev1.ObjectReference, known Known) []corev1.ObjectReference {
	var kept []corev1.ObjectReference
	for _, o := range owners {
		if !isJob(o) || known.Owner(o) {
			kept = append(kept, o)
		}
	}
	return kept
}

// overAt is when the time of a tag after its end is over, if it has an end and a time.
func overAt(obj *appsv1beta1.NodeImage, image string, tag *appsv1beta1.ImageTagSpec) (time.Time, bool) {
	status := obj.TagStatus(image, tag.Tag, tag.Version)
	if status == nil || status.CompletionTime == nil || tag.PullPolicy == nil || tag.PullPolicy.TTLSecondsAfterFinished == nil {
		return time.Time{}, false
	}
	return status.CompletionTime.Add(seconds.Of(*tag.PullPolicy.TTLSecondsAfterFinished)), true
}

// held is how long a tag rests that is over but waited for.
const held = time.Minute

// ended tells that all tags have an end at their version.
func ended(obj *appsv1beta1.NodeImage, image string, tags []appsv1beta1.ImageTagSpec) bool {
	for i := range tags {
		if status := obj.TagStatus(image, tags[i].Tag, tags[i].Version); status == nil || status.CompletionTime == nil {
			return false
		}
	}
	return true
}

func isJob(o corev1.ObjectReference) bool {
	group, _, _ := strings.Cut(o.APIVersion, "/")
	return o.Kind == "ImagePullJob" && group == appsv1beta1.GroupName
}
