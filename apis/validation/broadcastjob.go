// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// ValidateBroadcastJob says what is wrong with a BroadcastJob, which may come with or without its defaults.
// A nil old means that the object is new. No field is immutable. Objects of other versions are converted
// first: the spec is the same in all.
func ValidateBroadcastJob(old, obj *v1beta1.BroadcastJob) field.ErrorList {
	p := broadcastJob(obj)
	if old == nil {
		return p.list
	}
	updates := problems{}
	updates.metadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(updates.list, p.since(broadcastJob(old).list)...)
}

// broadcastJob checks one BroadcastJob for itself.
func broadcastJob(obj *v1beta1.BroadcastJob) *problems {
	p := &problems{}
	p.metadata(&obj.ObjectMeta)
	p.jobName(&obj.ObjectMeta)
	filled := v1beta1.BroadcastJob{Spec: *obj.Spec.DeepCopy()}
	v1beta1.DefaultBroadcastJob(&filled, v1beta1.DefaultOptions{Templates: true})
	p.broadcastJobSpec(field.NewPath("spec"), &filled.Spec)
	return p
}

// jobName wants a name that fits a label of the pods.
func (p *problems) jobName(meta *metav1.ObjectMeta) {
	path := field.NewPath("metadata", "name")
	if length := len(meta.Name); length > utilvalidation.LabelValueMaxLength {
		p.invalid(path, meta.Name, fmt.Sprintf("must have at most %d characters, not %d", utilvalidation.LabelValueMaxLength, length))
	}
	if strings.Contains(meta.Name, ".") {
		p.invalid(path, meta.Name, "must consist of letters, digits and '-': no dots")
	}
}

func (p *problems) broadcastJobSpec(path *field.Path, spec *v1beta1.BroadcastJobSpec) {
	p.numberOrPercent(path.Child("parallelism"), spec.Parallelism, true)
	policy, at := &spec.CompletionPolicy, path.Child("completionPolicy")
	if policy.Type == v1beta1.BroadcastJobCompletesNever {
		const ends = "a job of type Never does not end: take it out"
		if policy.ActiveDeadlineSeconds != nil {
			p.invalid(at.Child("activeDeadlineSeconds"), *policy.ActiveDeadlineSeconds, ends)
		}
		if policy.TTLSecondsAfterFinished != nil {
			p.invalid(at.Child("ttlSecondsAfterFinished"), *policy.TTLSecondsAfterFinished, ends)
		}
	}
	p.podTemplate(path.Child("template"), &spec.Template, nil)
	p.endingPods(path.Child("template", "spec", "restartPolicy"), spec.Template.Spec.RestartPolicy)
	for _, key := range []string{v1beta1.BroadcastJobNameLabel, v1beta1.BroadcastJobControllerUIDLabel} {
		if value := spec.Template.Labels[key]; value != "" {
			p.invalid(path.Child("template", "metadata", "labels").Key(key), value, "is set by the controller: take it out")
		}
	}
}

// endingPods wants pods that end.
func (p *problems) endingPods(path *field.Path, policy corev1.RestartPolicy) {
	if policy == corev1.RestartPolicyAlways || policy == "" {
		p.invalid(path, policy, "pods of a job must end: choose Never or OnFailure")
	}
}
