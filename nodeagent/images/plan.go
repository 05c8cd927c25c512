// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/seconds"
)

// Key is one image and one tag (or digest) of it.
type Key struct{ Image, Tag string }

// String is the reference by which the image is pulled.
func (k Key) String() string {
	if strings.Contains(k.Tag, ":") { // a digest with its algorithm
		return k.Image + "@" + k.Tag
	}
	return k.Image + ":" + k.Tag
}

// Order is what a puller is to do.
type Order struct {
	Key
	Version int64
	Secrets []v1beta1.ReferenceObject
	Sandbox v1beta1.SandboxConfig
	// Always pulls an image that is there.
	Always bool
	// Timeout bounds an attempt, Retries says how many there may be after the first.
	Timeout time.Duration
	Retries int
	// Deadline bounds all attempts together, counted from the start; 0 for none.
	Deadline time.Duration
	// Began is when an agent before this one began; zero when none did.
	Began time.Time
	// Reached is how far, in percent, that agent was.
	Reached int32
	// Owners are the jobs that ask for it.
	Owners []corev1.ObjectReference
}

// Work is how far a puller is.
type Work struct{ Status v1beta1.ImageTagStatus }

// Plan is what there is to do about pullers.
type Plan struct {
	// Start are tags without a puller that need one, Update those whose puller goes on, perhaps under new bounds.
	Start, Update []Order
	// Stop are pullers whose tag is gone, has another version, or has an end in the stored status.
	Stop []Key
}

// MakePlan compares what is asked for with the pullers there are.
func MakePlan(obj *v1beta1.NodeImage, work map[Key]Work) Plan {
	var p Plan
	wanted, planned := map[Key]bool{}, map[Key]bool{} // of a tag that is there twice, the second waits for the first
	for _, image := range slices.Sorted(maps.Keys(obj.Spec.Images)) {
		spec := obj.Spec.Images[image]
		for i := range spec.Tags {
			tag := &spec.Tags[i]
			k := Key{image, tag.Tag}
			stored, _ := storedStatus(obj, k, tag.Version)
			if planned[k] || stored.CompletionTime != nil {
				continue
			}
			planned[k] = true
			order := orderOf(k, spec, tag)
			if stored.StartTime != nil {
				order.Began, order.Reached = stored.StartTime.Time, stored.Progress
			}
			if at, ok := work[k]; ok && at.Status.Version == tag.Version {
				wanted[k] = true
				p.Update = append(p.Update, order)
			} else {
				p.Start = append(p.Start, order)
			}
		}
	}
	for k := range work {
		if !wanted[k] {
			p.Stop = append(p.Stop, k)
		}
	}
	slices.SortFunc(p.Stop, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return p
}

func orderOf(k Key, spec v1beta1.ImageSpec, tag *v1beta1.ImageTagSpec) Order {
	o := Order{
		Key: k, Version: tag.Version, Secrets: spec.PullSecrets, Owners: tag.OwnerReferences,
		Always:  tag.ImagePullPolicy == v1beta1.PullAlways,
		Timeout: seconds.Of(v1beta1.DefaultPullTimeoutSeconds),
		Retries: int(v1beta1.DefaultPullBackoffLimit),
	}
	if spec.SandboxConfig != nil {
		o.Sandbox = *spec.SandboxConfig
	}
	policy := tag.PullPolicy
	if policy == nil {
		return o
	}
	if t := policy.TimeoutSeconds; t != nil && *t > 0 {
		o.Timeout = seconds.Of(*t)
	}
	if b := policy.BackoffLimit; b != nil && *b >= 0 {
		o.Retries = int(*b)
	}
	if d := policy.ActiveDeadlineSeconds; d != nil {
		o.Deadline = seconds.Of(max(1, *d))
	}
	return o
}

// storedStatus returns the object's status of a tag, when it speaks of that version.
func storedStatus(obj *v1beta1.NodeImage, k Key, version int64) (v1beta1.ImageTagStatus, bool) {
	for _, s := range obj.Status.ImageStatuses[k.Image].Tags {
		if s.Tag == k.Tag && s.Version == version {
			return s, true
		}
	}
	return v1beta1.ImageTagStatus{}, false
}
