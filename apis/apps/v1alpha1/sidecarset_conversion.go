// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_SidecarSet_To_v1beta1_SidecarSet turns spec.namespace into a namespaceSelector, and the
// label by which v1alpha1 says customVersion into that field. spec.namespace never comes back.
func Convert_v1alpha1_SidecarSet_To_v1beta1_SidecarSet(in *SidecarSet, out *v1beta1.SidecarSet, s conversion.Scope) error {
	selected := *in
	if name := in.Spec.Namespace; name != "" {
		selected.Spec.Namespace = ""
		selected.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
	}
	return preserve.Through(preserve.Way[SidecarSet, v1beta1.SidecarSet]{
		Forth: func(in *SidecarSet, out *v1beta1.SidecarSet) error { return sidecarSetUp(in, out, s) },
		Back:  func(in *v1beta1.SidecarSet, out *SidecarSet) error { return sidecarSetDown(in, out, s) },
	}, &selected, out)
}

// Convert_v1beta1_SidecarSet_To_v1alpha1_SidecarSet turns customVersion into the label by which v1alpha1 says
// it.
func Convert_v1beta1_SidecarSet_To_v1alpha1_SidecarSet(in *v1beta1.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	return preserve.Through(preserve.Way[v1beta1.SidecarSet, SidecarSet]{
		Forth: func(in *v1beta1.SidecarSet, out *SidecarSet) error { return sidecarSetDown(in, out, s) },
		Back:  func(in *SidecarSet, out *v1beta1.SidecarSet) error { return sidecarSetUp(in, out, s) },
	}, in, out)
}

func sidecarSetUp(in *SidecarSet, out *v1beta1.SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_SidecarSet_To_v1beta1_SidecarSet(in, out, s); err != nil {
		return err
	}
	version := in.Labels[v1beta1.SidecarSetCustomVersionLabel]
	if version == "" {
		return nil
	}
	out.Spec.CustomVersion = version
	out.Labels = preserve.Without(in.Labels, v1beta1.SidecarSetCustomVersionLabel)
	return nil
}

func sidecarSetDown(in *v1beta1.SidecarSet, out *SidecarSet, s conversion.Scope) error {
	if err := autoConvert_v1beta1_SidecarSet_To_v1alpha1_SidecarSet(in, out, s); err != nil {
		return err
	}
	if in.Spec.CustomVersion != "" {
		out.Labels = preserve.With(in.Labels, v1beta1.SidecarSetCustomVersionLabel, in.Spec.CustomVersion)
	}
	return nil
}

// Convert_v1alpha1_SidecarSetSpec_To_v1beta1_SidecarSetSpec leaves namespace to the conversion of the object.
func Convert_v1alpha1_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in *SidecarSetSpec, out *v1beta1.SidecarSetSpec, s conversion.Scope) error {
	return autoConvert_v1alpha1_SidecarSetSpec_To_v1beta1_SidecarSetSpec(in, out, s)
}

// Convert_v1beta1_SidecarSetSpec_To_v1alpha1_SidecarSetSpec leaves customVersion to the conversion of the
// object.
func Convert_v1beta1_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in *v1beta1.SidecarSetSpec, out *SidecarSetSpec, s conversion.Scope) error {
	return autoConvert_v1beta1_SidecarSetSpec_To_v1alpha1_SidecarSetSpec(in, out, s)
}
