// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/imageref"
)

// mostImages is how many images an ImageListPullJob may list.
const mostImages = 255

// ValidateImagePullJob says what is wrong with an ImagePullJob, which may come with or without its defaults. A
// nil old means that the object is new.
func ValidateImagePullJob(old, obj *v1beta1.ImagePullJob) field.ErrorList {
	p := imagePullJob(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	if !equality.Semantic.DeepEqual(old.Spec.PullSecrets, obj.Spec.PullSecrets) {
		updates.forbidden(field.NewPath("spec", "pullSecrets"), "spec.pullSecrets is immutable: make another job")
	}
	if old.Status.CompletionTime != nil {
		updates.finishedPull(&old.Spec, &obj.Spec)
	}
	return append(updates.list, p.since(imagePullJob(old).list)...)
}

// finishedPull refuses what nobody would act on: another image or other nodes for a job that has completed.
func (p *problems) finishedPull(old, obj *v1beta1.ImagePullJobSpec) {
	const over = "the job has completed and would not act on it: make another job"
	path := field.NewPath("spec")
	if old.Image != obj.Image {
		p.forbidden(path.Child("image"), over)
	}
	if !equality.Semantic.DeepEqual(old.Selector, obj.Selector) {
		p.forbidden(path.Child("selector"), over)
	}
	if !equality.Semantic.DeepEqual(old.PodSelector, obj.PodSelector) {
		p.forbidden(path.Child("podSelector"), over)
	}
}

// ValidateOldImagePullJob is ValidateImagePullJob for an object sent as v1alpha1.
func ValidateOldImagePullJob(old, obj *v1alpha1.ImagePullJob) field.ErrorList {
	return converted(old, obj, v1alpha1.Convert_v1alpha1_ImagePullJob_To_v1beta1_ImagePullJob, ValidateImagePullJob)
}

func imagePullJob(obj *v1beta1.ImagePullJob) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	p.pullTemplate(path, &obj.Spec.ImagePullJobTemplate)
	p.image(path.Child("image"), obj.Spec.Image)
	policy := &obj.Spec.CompletionPolicy
	always := policy.Type == "" || policy.Type == v1beta1.CompletionPolicyAlways
	if deadline := policy.ActiveDeadlineSeconds; always && deadline != nil && *deadline < timeoutOf(&obj.Spec) {
		p.invalid(path.Child("completionPolicy", "activeDeadlineSeconds"), *deadline,
			"completionPolicy.activeDeadlineSeconds must be greater than pullPolicy.timeoutSeconds(default 600)")
	}
	return p
}

func timeoutOf(spec *v1beta1.ImagePullJobSpec) int64 {
	if spec.PullPolicy == nil || spec.PullPolicy.TimeoutSeconds == nil {
		return int64(v1beta1.DefaultPullTimeoutSeconds)
	}
	return int64(*spec.PullPolicy.TimeoutSeconds)
}

// ValidateImageListPullJob says what is wrong with an ImageListPullJob, which may come with or without its
// defaults. A nil old means that the object is new.
func ValidateImageListPullJob(old, obj *v1beta1.ImageListPullJob) field.ErrorList {
	p := imageListPullJob(obj)
	if old == nil {
		return p.list
	}
	return p.since(imageListPullJob(old).list)
}

// ValidateOldImageListPullJob is ValidateImageListPullJob for an object sent as v1alpha1.
func ValidateOldImageListPullJob(old, obj *v1alpha1.ImageListPullJob) field.ErrorList {
	return converted(old, obj, v1alpha1.Convert_v1alpha1_ImageListPullJob_To_v1beta1_ImageListPullJob, ValidateImageListPullJob)
}

func imageListPullJob(obj *v1beta1.ImageListPullJob) *problems {
	p := &problems{}
	path := field.NewPath("spec")
	p.pullTemplate(path, &obj.Spec.ImagePullJobTemplate)
	at := path.Child("images")
	if len(obj.Spec.Images) == 0 {
		p.required(at, "image can not be empty: list at least one")
	}
	if len(obj.Spec.Images) > mostImages {
		p.invalid(at, len(obj.Spec.Images), "the maximum number of images cannot > 255: make several jobs")
		return p
	}
	seen := map[string]bool{}
	for i, image := range obj.Spec.Images {
		p.image(at.Index(i), image)
		if seen[image] {
			p.invalid(at.Index(i), image, "images cannot have duplicate values: list each once")
		}
		seen[image] = true
	}
	return p
}

func (p *problems) image(path *field.Path, image string) {
	if image == "" {
		p.required(path, "image can not be empty")
		return
	}
	if _, err := imageref.Parse(image); err != nil {
		p.invalid(path, image, "invalid image "+image+": "+err.Error())
	}
}

// pullTemplate checks what both kinds of jobs have.
func (p *problems) pullTemplate(path *field.Path, template *v1beta1.ImagePullJobTemplate) {
	if selector := template.Selector; selector != nil {
		p.pullSelector(path.Child("selector"), selector)
	}
	if template.PodSelector != nil {
		if template.Selector != nil {
			p.forbidden(path.Child("podSelector"), "can not set both selector and podSelector: keep one of the two")
		}
		p.soundSelector(path.Child("podSelector"), "invalid podSelector", &template.PodSelector.LabelSelector)
	}
	p.parallelism(path.Child("parallelism"), template.Parallelism)
	if template.ImagePullPolicy != "" {
		oneOf(p, path.Child("imagePullPolicy"), template.ImagePullPolicy, v1beta1.PullIfNotPresent, v1beta1.PullAlways)
	}
	policy, at := &template.CompletionPolicy, path.Child("completionPolicy")
	switch policy.Type {
	case "", v1beta1.CompletionPolicyAlways:
	case v1beta1.CompletionPolicyNever:
		if policy.ActiveDeadlineSeconds != nil || policy.TTLSecondsAfterFinished != nil {
			p.forbidden(at, "activeDeadlineSeconds and ttlSecondsAfterFinished can only work with Always CompletionPolicyType: take them out")
		}
	default:
		p.invalid(at.Child("type"), policy.Type, "unknown type of completionPolicy: "+string(policy.Type)+": use Always or Never")
	}
}

func (p *problems) pullSelector(path *field.Path, selector *v1beta1.ImagePullJobNodeSelector) {
	if len(selector.Names) == 0 {
		p.soundSelector(path, "invalid selector", &selector.LabelSelector)
		return
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		p.forbidden(path, "can not set both names and labelSelector in this spec.selector: keep one of the two")
	}
	seen := map[string]bool{}
	for i, name := range selector.Names {
		if seen[name] {
			p.invalid(path.Child("names").Index(i), name, "duplicated name in selector names: list each once")
		}
		seen[name] = true
	}
}

// soundSelector wants a selector that can be used; it may select all.
func (p *problems) soundSelector(path *field.Path, what string, selector *metav1.LabelSelector) {
	lenient := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	if list := metav1validation.ValidateLabelSelector(selector, lenient, path); len(list) > 0 {
		p.add(list)
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		p.invalid(path, selector, what+": "+err.Error())
	}
}

func (p *problems) parallelism(path *field.Path, value *intstr.IntOrString) {
	if value == nil {
		return
	}
	if _, isPercent := percentOf(*value); isPercent {
		p.invalid(path, value.String(), "parallelism does not support percentage value: use a number")
		return
	}
	number, err := wholeNumber(*value)
	if err != nil {
		p.invalid(path, value.String(), "parallelism must be a valid integer: "+err.Error())
		return
	}
	if number < 0 {
		p.invalid(path, value.String(), "parallelism must be non-negative")
	}
}
