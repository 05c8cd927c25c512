// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata is that of the workloads, in the one field that is set; nil when none is.
func (t *SubsetTemplate) Metadata() *metav1.ObjectMeta {
	switch {
	case t.StatefulSetTemplate != nil:
		return &t.StatefulSetTemplate.ObjectMeta
	case t.AdvancedStatefulSetTemplate != nil:
		return &t.AdvancedStatefulSetTemplate.ObjectMeta
	case t.CloneSetTemplate != nil:
		return &t.CloneSetTemplate.ObjectMeta
	case t.DeploymentTemplate != nil:
		return &t.DeploymentTemplate.ObjectMeta
	default:
		return nil
	}
}
