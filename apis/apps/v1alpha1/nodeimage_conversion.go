// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// Convert_v1alpha1_NodeImage_To_v1beta1_NodeImage gives pull secrets the mode that was kept for them.
func Convert_v1alpha1_NodeImage_To_v1beta1_NodeImage(in *NodeImage, out *v1beta1.NodeImage, s conversion.Scope) error {
	return preserve.Through(preserve.Way[NodeImage, v1beta1.NodeImage]{
		Forth: func(in *NodeImage, out *v1beta1.NodeImage) error {
			return autoConvert_v1alpha1_NodeImage_To_v1beta1_NodeImage(in, out, s)
		},
		Back: func(in *v1beta1.NodeImage, out *NodeImage) error {
			return autoConvert_v1beta1_NodeImage_To_v1alpha1_NodeImage(in, out, s)
		},
	}, in, out)
}

// Convert_v1beta1_NodeImage_To_v1alpha1_NodeImage keeps the mode of pull secrets, which v1alpha1 lacks.
func Convert_v1beta1_NodeImage_To_v1alpha1_NodeImage(in *v1beta1.NodeImage, out *NodeImage, s conversion.Scope) error {
	return preserve.Through(preserve.Way[v1beta1.NodeImage, NodeImage]{
		Forth: func(in *v1beta1.NodeImage, out *NodeImage) error {
			return autoConvert_v1beta1_NodeImage_To_v1alpha1_NodeImage(in, out, s)
		},
		Back: func(in *NodeImage, out *v1beta1.NodeImage) error {
			return autoConvert_v1alpha1_NodeImage_To_v1beta1_NodeImage(in, out, s)
		},
	}, in, out)
}

// Convert_v1beta1_ReferenceObject_To_v1alpha1_ReferenceObject leaves mode to the conversion of the object.
func Convert_v1beta1_ReferenceObject_To_v1alpha1_ReferenceObject(in *v1beta1.ReferenceObject, out *ReferenceObject, s conversion.Scope) error {
	return autoConvert_v1beta1_ReferenceObject_To_v1alpha1_ReferenceObject(in, out, s)
}
