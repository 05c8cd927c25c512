// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// As TestRoundTrips, for sidecars and the operations on nodes.
func TestRoundTripsOfOperations(t *testing.T) {
	t.Run("SidecarSet up and down", roundTrip[SidecarSet, v1beta1.SidecarSet](canonicalOldSidecarSet))
	t.Run("SidecarSet down and up", roundTrip[v1beta1.SidecarSet, SidecarSet](labelledSidecarSet))
	t.Run("ContainerRecreateRequest up and down", roundTrip[ContainerRecreateRequest, v1beta1.ContainerRecreateRequest](canonicalOldRequest))
	t.Run("ContainerRecreateRequest down and up", roundTrip[v1beta1.ContainerRecreateRequest, ContainerRecreateRequest](canonicalRequest))
	t.Run("ImagePullJob up and down", roundTrip[ImagePullJob, v1beta1.ImagePullJob](asStored))
	t.Run("ImagePullJob down and up", roundTrip[v1beta1.ImagePullJob, ImagePullJob](asStored))
	t.Run("ImageListPullJob up and down", roundTrip[ImageListPullJob, v1beta1.ImageListPullJob](asStored))
	t.Run("ImageListPullJob down and up", roundTrip[v1beta1.ImageListPullJob, ImageListPullJob](asStored))
	t.Run("NodeImage up and down", roundTrip[NodeImage, v1beta1.NodeImage](asStored))
	t.Run("NodeImage down and up", roundTrip[v1beta1.NodeImage, NodeImage](asStored))
}

// asStored brings an object into the form that an API server can hold, where an empty list is none.
func asStored[T any](in *T) {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	*in = out
}

// canonicalOldSidecarSet: namespace becomes a namespaceSelector and stays one.
func canonicalOldSidecarSet(in *SidecarSet) {
	asStored(in)
	in.Spec.Namespace = ""
	if in.Generation%2 == 0 {
		in.Labels = withAnnotation(in.Labels, v1beta1.SidecarSetCustomVersionLabel, "v1")
	}
}

// labelledSidecarSet: the label of v1alpha1 is a label like others in v1beta1.
func labelledSidecarSet(in *v1beta1.SidecarSet) {
	asStored(in)
	if in.Generation%2 == 0 {
		in.Labels = withAnnotation(in.Labels, v1beta1.SidecarSetCustomVersionLabel, "v1")
	}
	if in.Generation%3 == 0 {
		in.Spec.CustomVersion = ""
	}
}

// canonicalOldRequest has annotations as v1alpha1 writes them, or such as cannot be read.
func canonicalOldRequest(in *ContainerRecreateRequest) {
	asStored(in)
	switch in.Generation % 3 {
	case 0:
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestUnreadyAcquiredKey, "2026-01-02T03:04:05Z")
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestSyncContainerStatusesKey,
			`[{"name":"a","ready":true,"restartCount":1,"containerID":"c://1"}]`)
	case 1:
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestUnreadyAcquiredKey, "yesterday")
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestSyncContainerStatusesKey, "none")
	}
}

// canonicalRequest has the annotations that its status gives rise to: they are not taken off.
func canonicalRequest(in *v1beta1.ContainerRecreateRequest) {
	asStored(in)
	if in.Status.ContainerStatusSnapshot != nil {
		snapshot, _ := json.Marshal(in.Status.ContainerStatusSnapshot)
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestSyncContainerStatusesKey, string(snapshot))
	}
	if in.Generation%2 == 0 {
		grace := metav1.Condition{Type: v1beta1.PreRecreateGraceCondition, Status: metav1.ConditionTrue, Reason: "r", LastTransitionTime: metav1.Unix(in.Generation%1e9, 0)}
		in.Status.Conditions = append(in.Status.Conditions, grace)
		in.Annotations = withAnnotation(in.Annotations, v1beta1.ContainerRecreateRequestUnreadyAcquiredKey, grace.LastTransitionTime.UTC().Format(time.RFC3339))
	}
}
