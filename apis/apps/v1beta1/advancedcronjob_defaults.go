// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "github.com/flotilla-sh/flotilla/apis/podtemplate"

const (
	// DefaultCronPullTimeoutSeconds is the default of pullPolicy.timeoutSeconds of an
	// imageListPullJobTemplate, in seconds.
	DefaultCronPullTimeoutSeconds int32 = 600
	// DefaultCronPullBackoffLimit is the default of its pullPolicy.backoffLimit.
	DefaultCronPullBackoffLimit int32 = 3
)

// DefaultAdvancedCronJob fills the fields of an AdvancedCronJob that say nothing. Objects of other versions
// are converted first.
func DefaultAdvancedCronJob(obj *AdvancedCronJob, opts DefaultOptions) {
	spec := &obj.Spec
	if spec.ConcurrencyPolicy == "" {
		spec.ConcurrencyPolicy = AllowConcurrent
		if spec.Template.ImageListPullJobTemplate != nil {
			spec.ConcurrencyPolicy = ReplaceConcurrent
		}
	}
	point(&spec.Paused, false)
	point(&spec.SuccessfulJobsHistoryLimit, DefaultSuccessfulJobsHistoryLimit)
	point(&spec.FailedJobsHistoryLimit, DefaultFailedJobsHistoryLimit)
	if template := spec.Template.ImageListPullJobTemplate; template != nil {
		defaultCronPull(&template.Spec)
	}
	if !opts.Templates {
		return
	}
	if template := spec.Template.JobTemplate; template != nil {
		podtemplate.Default(&template.Spec.Template, opts.PodTemplate)
	}
	if template := spec.Template.BroadcastJobTemplate; template != nil {
		podtemplate.Default(&template.Spec.Template, opts.PodTemplate)
	}
}

// defaultCronPull fills a pull template whose completion policy says nothing; others have had their
// defaults before.
func defaultCronPull(spec *ImageListPullJobSpec) {
	if spec.CompletionPolicy.Type != "" {
		return
	}
	spec.CompletionPolicy.Type = CompletionPolicyAlways
	point(&spec.PullPolicy, PullPolicy{})
	point(&spec.PullPolicy.TimeoutSeconds, DefaultCronPullTimeoutSeconds)
	point(&spec.PullPolicy.BackoffLimit, DefaultCronPullBackoffLimit)
	if spec.ImagePullPolicy == "" {
		spec.ImagePullPolicy = PullIfNotPresent
	}
}
