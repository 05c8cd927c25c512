// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet also brings back what only v1beta1 says. An object
// without a status, as a copy is, gets none.
func Convert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet(in *StatefulSet, out *v1beta1.StatefulSet, s conversion.Scope) error {
	err := preserve.Through(way(s, autoConvert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet, autoConvert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet), in, out)
	if equality.Semantic.DeepEqual(in.Status, StatefulSetStatus{}) {
		out.Status = v1beta1.StatefulSetStatus{}
	}
	return err
}

// Convert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet also keeps what only v1beta1 says.
func Convert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet(in *v1beta1.StatefulSet, out *StatefulSet, s conversion.Scope) error {
	return preserve.Through(way(s, autoConvert_v1beta1_StatefulSet_To_v1alpha1_StatefulSet, autoConvert_v1alpha1_StatefulSet_To_v1beta1_StatefulSet), in, out)
}

// Convert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec leaves to the whole object what only v1beta1
// says.
func Convert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in *v1beta1.StatefulSetSpec, out *StatefulSetSpec, s conversion.Scope) error {
	return autoConvert_v1beta1_StatefulSetSpec_To_v1alpha1_StatefulSetSpec(in, out, s)
}

// Convert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus leaves to the whole object what only
// v1beta1 says.
func Convert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(in *v1beta1.StatefulSetStatus, out *StatefulSetStatus, s conversion.Scope) error {
	return autoConvert_v1beta1_StatefulSetStatus_To_v1alpha1_StatefulSetStatus(in, out, s)
}
