// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Convert_v1alpha1_ResourceDistributionTargets_To_v1beta1_ResourceDistributionTargets renames
// namespaceLabelSelector to namespaceSelector.
func Convert_v1alpha1_ResourceDistributionTargets_To_v1beta1_ResourceDistributionTargets(
	in *ResourceDistributionTargets, out *v1beta1.ResourceDistributionTargets, s conversion.Scope,
) error {
	out.NamespaceSelector = in.NamespaceLabelSelector
	return autoConvert_v1alpha1_ResourceDistributionTargets_To_v1beta1_ResourceDistributionTargets(in, out, s)
}

// Convert_v1beta1_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets renames
// namespaceSelector to namespaceLabelSelector.
func Convert_v1beta1_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets(
	in *v1beta1.ResourceDistributionTargets, out *ResourceDistributionTargets, s conversion.Scope,
) error {
	out.NamespaceLabelSelector = in.NamespaceSelector
	return autoConvert_v1beta1_ResourceDistributionTargets_To_v1alpha1_ResourceDistributionTargets(in, out, s)
}

// Convert_v1alpha1_ResourceDistributionCondition_To_v1beta1_ResourceDistributionCondition renames
// failedNamespace to failedNamespaces.
func Convert_v1alpha1_ResourceDistributionCondition_To_v1beta1_ResourceDistributionCondition(
	in *ResourceDistributionCondition, out *v1beta1.ResourceDistributionCondition, s conversion.Scope,
) error {
	out.FailedNamespaces = in.FailedNamespace
	return autoConvert_v1alpha1_ResourceDistributionCondition_To_v1beta1_ResourceDistributionCondition(in, out, s)
}

// Convert_v1beta1_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition renames
// failedNamespaces to failedNamespace.
func Convert_v1beta1_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition(
	in *v1beta1.ResourceDistributionCondition, out *ResourceDistributionCondition, s conversion.Scope,
) error {
	out.FailedNamespace = in.FailedNamespaces
	return autoConvert_v1beta1_ResourceDistributionCondition_To_v1alpha1_ResourceDistributionCondition(in, out, s)
}
