// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Convert_v1alpha1_NodeTopologyTerm_To_v1beta1_NodeTopologyTerm renames nodeTopologyKeys to keys.
func Convert_v1alpha1_NodeTopologyTerm_To_v1beta1_NodeTopologyTerm(in *NodeTopologyTerm, out *v1beta1.NodeTopologyTerm, s conversion.Scope) error {
	out.Keys = in.NodeTopologyKeys
	return autoConvert_v1alpha1_NodeTopologyTerm_To_v1beta1_NodeTopologyTerm(in, out, s)
}

// Convert_v1beta1_NodeTopologyTerm_To_v1alpha1_NodeTopologyTerm renames keys to nodeTopologyKeys.
func Convert_v1beta1_NodeTopologyTerm_To_v1alpha1_NodeTopologyTerm(in *v1beta1.NodeTopologyTerm, out *NodeTopologyTerm, s conversion.Scope) error {
	out.NodeTopologyKeys = in.Keys
	return autoConvert_v1beta1_NodeTopologyTerm_To_v1alpha1_NodeTopologyTerm(in, out, s)
}
