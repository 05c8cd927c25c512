// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
)

const (
	maxCronImages      = 255
	maxCronPullSeconds = 24 * 60 * 60
)

// cronPull wants image pulls that end before the next run, or are replaced by it.
func (p *problems) cronPull(path *field.Path, spec *v1beta1.ImageListPullJobSpec) {
	p.cronImages(path.Child("images"), spec.Images)
	p.cronPullTargets(path, spec)
	policy, at := &spec.CompletionPolicy, path.Child("completionPolicy")
	oneOf(p, at.Child("type"), policy.Type, v1beta1.CompletionPolicyAlways)
	if policy.TTLSecondsAfterFinished != nil {
		p.forbidden(at.Child("ttlSecondsAfterFinished"), "the history limits say how long jobs are kept: take it out")
	}
	if policy.ActiveDeadlineSeconds == nil {
		return
	}
	timeout := int64(v1beta1.DefaultCronPullTimeoutSeconds)
	if spec.PullPolicy != nil && spec.PullPolicy.TimeoutSeconds != nil {
		timeout = int64(*spec.PullPolicy.TimeoutSeconds)
	}
	deadline := at.Child("activeDeadlineSeconds")
	if seconds := *policy.ActiveDeadlineSeconds; seconds < timeout {
		p.invalid(deadline, seconds, fmt.Sprintf("must not be less than pullPolicy.timeoutSeconds (%d)", timeout))
	} else if seconds > maxCronPullSeconds {
		p.invalid(deadline, seconds, fmt.Sprintf("must be at most %d seconds, a day", maxCronPullSeconds))
	}
}

func (p *problems) cronImages(path *field.Path, images []string) {
	if len(images) == 0 {
		p.required(path, "name at least one image")
	}
	if len(images) > maxCronImages {
		p.list = append(p.list, field.TooMany(path, len(images), maxCronImages))
	}
	seen := map[string]bool{}
	for i, image := range images {
		if _, err := imageref.Parse(image); err != nil {
			p.invalid(path.Index(i), image, "must be the name of an image (registry/path:tag): "+err.Error())
		}
		unique(p, seen, path.Index(i), image)
	}
}

func (p *problems) cronPullTargets(path *field.Path, spec *v1beta1.ImageListPullJobSpec) {
	lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	if spec.Selector != nil && spec.PodSelector != nil {
		p.invalid(path.Child("podSelector"), "", "cannot be set together with selector: keep one of the two")
	}
	if nodes := spec.Selector; nodes != nil {
		at := path.Child("selector")
		if len(nodes.Names) > 0 && !emptySelector(&nodes.LabelSelector) {
			p.invalid(at.Child("names"), nodes.Names, "cannot be set together with labels: keep one of the two")
		}
		seen := map[string]bool{}
		for i, name := range nodes.Names {
			unique(p, seen, at.Child("names").Index(i), name)
		}
		p.add(metav1validation.ValidateLabelSelector(&nodes.LabelSelector, lenient, at))
	}
	if pods := spec.PodSelector; pods != nil {
		p.add(metav1validation.ValidateLabelSelector(&pods.LabelSelector, lenient, path.Child("podSelector")))
	}
}

func emptySelector(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}
