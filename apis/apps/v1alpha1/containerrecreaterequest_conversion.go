// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/apis/preserve"
)

// derivedOfRequests are the annotations by which v1alpha1 says what v1beta1 has in its status.
var derivedOfRequests = []string{
	v1beta1.ContainerRecreateRequestSyncContainerStatusesKey,
	v1beta1.ContainerRecreateRequestUnreadyAcquiredKey,
}

// Convert_v1alpha1_ContainerRecreateRequest_To_v1beta1_ContainerRecreateRequest reads containerStatusSnapshot
// and condition PreRecreateGrace from annotations. The annotations stay; what cannot be read says nothing.
func Convert_v1alpha1_ContainerRecreateRequest_To_v1beta1_ContainerRecreateRequest(
	in *ContainerRecreateRequest, out *v1beta1.ContainerRecreateRequest, s conversion.Scope,
) error {
	return preserve.Through(preserve.Way[ContainerRecreateRequest, v1beta1.ContainerRecreateRequest]{
		Forth: func(in *ContainerRecreateRequest, out *v1beta1.ContainerRecreateRequest) error {
			return requestUp(in, out, s)
		},
		Back: func(in *v1beta1.ContainerRecreateRequest, out *ContainerRecreateRequest) error {
			return requestDown(in, out, s)
		},
		Derived: derivedOfRequests,
	}, in, out)
}

// Convert_v1beta1_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest writes containerStatusSnapshot
// and condition PreRecreateGrace into annotations.
func Convert_v1beta1_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest(
	in *v1beta1.ContainerRecreateRequest, out *ContainerRecreateRequest, s conversion.Scope,
) error {
	return preserve.Through(preserve.Way[v1beta1.ContainerRecreateRequest, ContainerRecreateRequest]{
		Forth: func(in *v1beta1.ContainerRecreateRequest, out *ContainerRecreateRequest) error {
			return requestDown(in, out, s)
		},
		Back: func(in *ContainerRecreateRequest, out *v1beta1.ContainerRecreateRequest) error {
			return requestUp(in, out, s)
		},
		Derived: derivedOfRequests,
	}, in, out)
}

func requestUp(in *ContainerRecreateRequest, out *v1beta1.ContainerRecreateRequest, s conversion.Scope) error {
	if err := autoConvert_v1alpha1_ContainerRecreateRequest_To_v1beta1_ContainerRecreateRequest(in, out, s); err != nil {
		return err
	}
	var snapshot []v1beta1.ContainerRecreateRequestContainerStatus
	if json.Unmarshal([]byte(in.Annotations[v1beta1.ContainerRecreateRequestSyncContainerStatusesKey]), &snapshot) == nil {
		out.Status.ContainerStatusSnapshot = snapshot
	}
	since, err := time.Parse(time.RFC3339, in.Annotations[v1beta1.ContainerRecreateRequestUnreadyAcquiredKey])
	if err != nil {
		return nil
	}
	out.Status.Conditions = []metav1.Condition{{
		Type:               v1beta1.PreRecreateGraceCondition,
		Status:             metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(since),
		Reason:             v1beta1.PreRecreateGraceCondition,
		Message:            v1beta1.PreRecreateGraceMessage,
	}}
	return nil
}

func requestDown(in *v1beta1.ContainerRecreateRequest, out *ContainerRecreateRequest, s conversion.Scope) error {
	if err := autoConvert_v1beta1_ContainerRecreateRequest_To_v1alpha1_ContainerRecreateRequest(in, out, s); err != nil {
		return err
	}
	if in.Status.ContainerStatusSnapshot != nil {
		snapshot, err := json.Marshal(in.Status.ContainerStatusSnapshot)
		if err != nil {
			return err
		}
		out.Annotations = preserve.With(out.Annotations, v1beta1.ContainerRecreateRequestSyncContainerStatusesKey, string(snapshot))
	}
	grace := meta.FindStatusCondition(in.Status.Conditions, v1beta1.PreRecreateGraceCondition)
	if grace != nil && grace.Status == metav1.ConditionTrue {
		since := grace.LastTransitionTime.UTC().Format(time.RFC3339)
		out.Annotations = preserve.With(out.Annotations, v1beta1.ContainerRecreateRequestUnreadyAcquiredKey, since)
	}
	return nil
}

// Convert_v1beta1_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus leaves what
// v1alpha1 lacks to the conversion of the object.
func Convert_v1beta1_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus(
	in *v1beta1.ContainerRecreateRequestStatus, out *ContainerRecreateRequestStatus, s conversion.Scope,
) error {
	return autoConvert_v1beta1_ContainerRecreateRequestStatus_To_v1alpha1_ContainerRecreateRequestStatus(in, out, s)
}
