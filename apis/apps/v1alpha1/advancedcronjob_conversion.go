// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_AdvancedCronJob_To_v1beta1_AdvancedCronJob also brings back the template that only
// v1beta1 has.
func Convert_v1alpha1_AdvancedCronJob_To_v1beta1_AdvancedCronJob(in *AdvancedCronJob, out *v1beta1.AdvancedCronJob, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1alpha1_AdvancedCronJob_To_v1beta1_AdvancedCronJob, autoConvert_v1beta1_AdvancedCronJob_To_v1alpha1_AdvancedCronJob), in, out)
}

// Convert_v1beta1_AdvancedCronJob_To_v1alpha1_AdvancedCronJob also keeps the template that only v1beta1
// has. OpenKruise refuses to convert such an object, by which it makes every list of v1alpha1 fail that
// would hold one.
func Convert_v1beta1_AdvancedCronJob_To_v1alpha1_AdvancedCronJob(in *v1beta1.AdvancedCronJob, out *AdvancedCronJob, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1beta1_AdvancedCronJob_To_v1alpha1_AdvancedCronJob, autoConvert_v1alpha1_AdvancedCronJob_To_v1beta1_AdvancedCronJob), in, out)
}

// Convert_v1beta1_CronJobTemplate_To_v1alpha1_CronJobTemplate leaves imageListPullJobTemplate to the whole
// object.
func Convert_v1beta1_CronJobTemplate_To_v1alpha1_CronJobTemplate(in *v1beta1.CronJobTemplate, out *CronJobTemplate, s conversion.Scope) error {
	return autoConvert_v1beta1_CronJobTemplate_To_v1alpha1_CronJobTemplate(in, out, s)
}
