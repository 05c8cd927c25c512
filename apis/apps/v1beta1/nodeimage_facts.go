// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TagSpec returns what is asked for of a tag of an image, nil when nothing is.
func (n *NodeImage) TagSpec(image, tag string) *ImageTagSpec {
	tags := n.Spec.Images[image].Tags
	for i := range tags {
		if tags[i].Tag == tag {
			return &tags[i]
		}
	}
	return nil
}

// TagStatus returns how far a tag is, nil when the status does not speak of this version of it.
func (n *NodeImage) TagStatus(image, tag string, version int64) *ImageTagStatus {
	tags := n.Status.ImageStatuses[image].Tags
	for i := range tags {
		if tags[i].Tag == tag && tags[i].Version == version {
			return &tags[i]
		}
	}
	return nil
}

// OwnedBy tells whether the object with that uid asks for the tag.
func (t *ImageTagSpec) OwnedBy(uid types.UID) bool {
	return slices.ContainsFunc(t.OwnerReferences, func(o corev1.ObjectReference) bool { return o.UID == uid })
}

// CountStatus counts the tags in the status by phase. Waiting stays as it is.
func (s *NodeImageStatus) CountStatus(spec *NodeImageSpec) {
	s.Desired, s.Pulling, s.Succeeded, s.Failed = 0, 0, 0, 0
	for _, image := range spec.Images {
		s.Desired += int32(len(image.Tags)) //nolint:gosec // an object's size bounds it
	}
	for _, image := range s.ImageStatuses {
		for i := range image.Tags {
			switch image.Tags[i].Phase {
			case ImagePhasePulling:
				s.Pulling++
			case ImagePhaseSucceeded:
				s.Succeeded++
			case ImagePhaseFailed:
				s.Failed++
			case ImagePhaseWaiting:
			}
		}
	}
}

// ImageHolders counts on how many nodes what was asked for was pulled: by image ID (name@digest, as in imageID), and
// by the name it was asked for by (name:tag or name@digest). It says what was pulled, not what the nodes still have: the
// kubelet deletes images that nobody uses when room is short.
func ImageHolders(nodes []NodeImage) (byID, byName map[string]int32) {
	byID, byName = map[string]int32{}, map[string]int32{}
	for i := range nodes {
		ids := map[string]bool{} // several tags may be one image
		for image, status := range nodes[i].Status.ImageStatuses {
			for j := range status.Tags {
				tag := &status.Tags[j]
				if tag.Phase != ImagePhaseSucceeded {
					continue
				}
				byName[ImageReference(image, tag.Tag)]++
				if tag.ImageID != "" && !ids[tag.ImageID] {
					ids[tag.ImageID] = true
					byID[tag.ImageID]++
				}
			}
		}
	}
	return byID, byName
}

// ImageReference is the name by which an image is pulled: name:tag, or name@digest for a tag that is a digest.
func ImageReference(image, tag string) string {
	for _, c := range tag {
		if c == ':' { // a digest names its algorithm, and no tag may have a colon
			return image + "@" + tag
		}
	}
	return image + ":" + tag
}
