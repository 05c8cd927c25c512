// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/apis/podtemplate"
)

// DefaultBroadcastJob fills the fields of a BroadcastJob that say nothing. Objects of other versions are
// converted first. With opts.Templates an empty restartPolicy becomes Always, which validation refuses:
// users have to choose.
func DefaultBroadcastJob(obj *BroadcastJob, opts DefaultOptions) {
	spec := &obj.Spec
	point(&spec.Parallelism, intstr.FromInt32(math.MaxInt32))
	if spec.CompletionPolicy.Type == "" {
		spec.CompletionPolicy.Type = BroadcastJobCompletesAlways
	}
	if spec.FailurePolicy.Type == "" {
		spec.FailurePolicy.Type = BroadcastJobFailFast
	}
	if opts.Templates {
		podtemplate.Default(&spec.Template, opts.PodTemplate)
	}
}
