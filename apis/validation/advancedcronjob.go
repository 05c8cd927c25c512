// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateAdvancedCronJob says what is wrong with an AdvancedCronJob, which may come with or without its
// defaults. A nil old means that the object is new. Objects of other versions are converted first: what
// v1alpha1 has of the spec has the same names there.
func ValidateAdvancedCronJob(old, obj *v1beta1.AdvancedCronJob) field.ErrorList {
	p := advancedCronJob(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	updates.cronTemplateUpdate(field.NewPath("spec", "template"), &old.Spec.Template, &obj.Spec.Template)
	return append(updates.list, p.since(advancedCronJob(old).list)...)
}

// cronTemplateUpdate lets only a template of image pulls change, and not the kind of template.
func (p *problems) cronTemplateUpdate(path *field.Path, old, template *v1beta1.CronJobTemplate) {
	const another = "cannot be changed: make another AdvancedCronJob"
	if !equality.Semantic.DeepEqual(old.JobTemplate, template.JobTemplate) {
		p.forbidden(path.Child("jobTemplate"), another)
	}
	if !equality.Semantic.DeepEqual(old.BroadcastJobTemplate, template.BroadcastJobTemplate) {
		p.forbidden(path.Child("broadcastJobTemplate"), another)
	}
	if (old.ImageListPullJobTemplate == nil) != (template.ImageListPullJobTemplate == nil) {
		p.forbidden(path.Child("imageListPullJobTemplate"), "can be neither added nor taken out: make another AdvancedCronJob")
	}
}

// advancedCronJob checks one AdvancedCronJob for itself.
func advancedCronJob(obj *v1beta1.AdvancedCronJob) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	p.jobName(&obj.ObjectMeta)
	filled := v1beta1.AdvancedCronJob{Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultAdvancedCronJob(&filled, v1beta1.DefaultOptions{})
	spec, path := &filled.Spec, field.NewPath("spec")

	p.schedule(path, spec)
	oneOf(p, path.Child("concurrencyPolicy"), spec.ConcurrencyPolicy,
		v1beta1.AllowConcurrent, v1beta1.ForbidConcurrent, v1beta1.ReplaceConcurrent)
	if seconds := spec.StartingDeadlineSeconds; seconds != nil {
		p.notNegative(path.Child("startingDeadlineSeconds"), *seconds)
	}
	p.notNegative(path.Child("successfulJobsHistoryLimit"), int64(*spec.SuccessfulJobsHistoryLimit))
	p.notNegative(path.Child("failedJobsHistoryLimit"), int64(*spec.FailedJobsHistoryLimit))
	p.cronTemplate(path.Child("template"), spec)
	return p
}

func (p *problems) schedule(path *field.Path, spec *v1beta1.AdvancedCronJobSpec) {
	if spec.Schedule == "" {
		p.required(path.Child("schedule"), "say when to run: five fields (0 4 * * *) or @daily and the like")
	} else if err := checkSchedule(spec.Schedule); err != nil {
		p.invalid(path.Child("schedule"), spec.Schedule, err.Error())
	}
	if spec.TimeZone == nil {
		return
	}
	if strings.Contains(spec.Schedule, "TZ") {
		p.invalid(path.Child("schedule"), spec.Schedule, "must not name a time zone when timeZone does: take one out")
	}
	p.timeZone(path.Child("timeZone"), *spec.TimeZone)
}

func (p *problems) timeZone(path *field.Path, zone string) {
	switch {
	case zone == "":
		p.invalid(path, zone, "must name a time zone (Asia/Tokyo): without the field it is the one of the controller")
	case strings.EqualFold(zone, "Local"):
		p.invalid(path, zone, "must name a time zone (Asia/Tokyo): leave the field out for the one of the controller")
	default:
		if _, err := time.LoadLocation(zone); err != nil {
			p.invalid(path, zone, "is not the name of a time zone of the IANA database (Asia/Tokyo)")
		}
	}
}

func (p *problems) cronTemplate(path *field.Path, spec *v1beta1.AdvancedCronJobSpec) {
	template, kinds := &spec.Template, 0
	if template.JobTemplate != nil {
		kinds++
		p.podTemplate(path.Child("jobTemplate", "spec", "template"), &template.JobTemplate.Spec.Template, nil)
	}
	if template.BroadcastJobTemplate != nil {
		kinds++
		p.podTemplate(path.Child("broadcastJobTemplate", "spec", "template"), &template.BroadcastJobTemplate.Spec.Template, nil)
	}
	if template.ImageListPullJobTemplate != nil {
		kinds++
		if spec.ConcurrencyPolicy == v1beta1.AllowConcurrent {
			p.invalid(field.NewPath("spec", "concurrencyPolicy"), spec.ConcurrencyPolicy, "must be Replace or Forbid with imageListPullJobTemplate")
		}
		p.cronPull(path.Child("imageListPullJobTemplate", "spec"), &template.ImageListPullJobTemplate.Spec)
	}
	const exactlyOne = "set exactly one of jobTemplate, broadcastJobTemplate and imageListPullJobTemplate"
	switch {
	case kinds == 0:
		p.required(path, exactlyOne)
	case kinds > 1:
		p.invalid(path, "", exactlyOne)
	}
}
