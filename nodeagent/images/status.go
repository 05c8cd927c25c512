// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// StatusOf returns the status to show: ends that are stored stay, what goes on is as the pullers say, and what nobody
// asks for any more is left out.
func StatusOf(obj *v1beta1.NodeImage, work map[Key]Work) v1beta1.NodeImageStatus {
	out := v1beta1.NodeImageStatus{FirstSyncStatus: obj.Status.FirstSyncStatus}
	for image, spec := range obj.Spec.Images {
		var tags []v1beta1.ImageTagStatus
		for i := range spec.Tags {
			s := tagStatus(obj, Key{image, spec.Tags[i].Tag}, spec.Tags[i].Version, work)
			count(&out, s.Phase)
			tags = append(tags, s)
		}
		if len(tags) == 0 {
			continue
		}
		slices.SortFunc(tags, func(a, b v1beta1.ImageTagStatus) int {
			return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Version, b.Version))
		})
		if out.ImageStatuses == nil {
			out.ImageStatuses = map[string]v1beta1.ImageStatus{}
		}
		out.ImageStatuses[image] = v1beta1.ImageStatus{Tags: tags}
	}
	return out
}

func tagStatus(obj *v1beta1.NodeImage, k Key, version int64, work map[Key]Work) v1beta1.ImageTagStatus {
	stored, found := storedStatus(obj, k, version)
	if found && stored.CompletionTime != nil {
		return stored
	}
	if at, ok := work[k]; ok && at.Status.Version == version {
		return at.Status
	}
	if found {
		return stored
	}
	return v1beta1.ImageTagStatus{Tag: k.Tag, Version: version, Phase: v1beta1.ImagePhaseWaiting}
}

func count(s *v1beta1.NodeImageStatus, phase v1beta1.ImagePullPhase) {
	s.Desired++
	switch phase {
	case v1beta1.ImagePhaseSucceeded:
		s.Succeeded++
	case v1beta1.ImagePhaseFailed:
		s.Failed++
	case v1beta1.ImagePhasePulling:
		s.Pulling++
	case v1beta1.ImagePhaseWaiting:
		s.Waiting++
	}
}

// progress returns by how many points a tag went on at most, when nothing else differs between the two statuses.
func progress(from, to v1beta1.NodeImageStatus) (step int32, alone bool) {
	same := to.DeepCopy()
	for image, stored := range from.ImageStatuses {
		tags := same.ImageStatuses[image].Tags
		for i := range min(len(tags), len(stored.Tags)) {
			step = max(step, tags[i].Progress-stored.Tags[i].Progress)
			tags[i].Progress = stored.Tags[i].Progress
		}
	}
	return step, equality.Semantic.DeepEqual(from, *same)
}
