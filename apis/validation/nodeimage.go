// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateNodeImage says what is wrong with a NodeImage that comes with its defaults. A nil old means that the
// object is new.
func ValidateNodeImage(old, obj *v1beta1.NodeImage) field.ErrorList {
	p := nodeImage(obj)
	if old == nil {
		return p.list
	}
	return p.since(nodeImage(old).list)
}

// ValidateOldNodeImage is ValidateNodeImage for an object sent as v1alpha1.
func ValidateOldNodeImage(old, obj *v1alpha1.NodeImage) field.ErrorList {
	return converted(old, obj, v1alpha1.Convert_v1alpha1_NodeImage_To_v1beta1_NodeImage, ValidateNodeImage)
}

func nodeImage(obj *v1beta1.NodeImage) *problems {
	p := &problems{}
	path := field.NewPath("spec", "images")
	if len(obj.Spec.Images) > v1beta1.MostImagesOfNode {
		p.list = append(p.list, field.TooMany(path, len(obj.Spec.Images), v1beta1.MostImagesOfNode))
		return p
	}
	for _, name := range sortedKeys(obj.Spec.Images) {
		at := path.Key(name)
		if name == "" {
			p.required(at, "name the image")
		}
		p.imageTags(at.Child("tags"), obj.Spec.Images[name].Tags)
	}
	return p
}

func (p *problems) imageTags(path *field.Path, tags []v1beta1.ImageTagSpec) {
	seen := map[string]bool{}
	for i := range tags {
		at, tag := path.Index(i), &tags[i]
		if tag.Tag == "" {
			p.required(at.Child("tag"), "name the tag or digest")
		}
		unique(p, seen, at.Child("tag"), tag.Tag)
		if tag.CreatedAt == nil {
			p.required(at.Child("createdAt"), "say when the pull was asked for")
		}
		p.notNegative(at.Child("version"), tag.Version)
		if tag.ImagePullPolicy != "" {
			oneOf(p, at.Child("imagePullPolicy"), tag.ImagePullPolicy, v1beta1.PullIfNotPresent, v1beta1.PullAlways)
		}
		switch {
		case tag.PullPolicy == nil:
			p.required(at.Child("pullPolicy"), "say how long to try")
		case tag.PullPolicy.TTLSecondsAfterFinished == nil:
			p.required(at.Child("pullPolicy", "ttlSecondsAfterFinished"), "say when the tag is dropped")
		}
	}
}
