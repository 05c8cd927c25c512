// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func TestSidecarSetUp(t *testing.T) {
	runConversions[SidecarSet, v1beta1.SidecarSet](t, map[string]conversionCase{
		"nothing": {in: `{}`, want: `{}`},
		"namespace overrides namespaceSelector": {
			in:   `{"spec":{"namespace":"a","namespaceSelector":{"matchLabels":{"b":"c"}}}}`,
			want: `{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"a"}}}}`,
		},
		"the label becomes customVersion": {
			in:   `{"metadata":{"labels":{"apps.kruise.io/sidecarset-custom-version":"v1","a":"b"}},"spec":{"revisionHistoryLimit":3}}`,
			want: `{"metadata":{"labels":{"a":"b"}},"spec":{"revisionHistoryLimit":3,"customVersion":"v1"}}`,
		},
		"containers as they are": {
			in: `{"spec":{"containers":[{"name":"a","image":"b","upgradeStrategy":{"upgradeType":"HotUpgrade"},"resourcesPolicy":{"targetContainersMode":"sum","resourcesExpr":{"limits":{"cpu":"cpu*50%"}}}}],
				"updateStrategy":{"partition":"10%"}},"status":{"matchedPods":1,"latestRevision":"r"}}`,
			want: `{"spec":{"containers":[{"name":"a","image":"b","upgradeStrategy":{"upgradeType":"HotUpgrade"},"resourcesPolicy":{"targetContainersMode":"sum","resourcesExpr":{"limits":{"cpu":"cpu*50%"}}}}],
				"updateStrategy":{"partition":"10%"}},"status":{"matchedPods":1,"latestRevision":"r"}}`,
		},
	})
}

func TestSidecarSetDown(t *testing.T) {
	runConversions[v1beta1.SidecarSet, SidecarSet](t, map[string]conversionCase{
		"namespaceSelector as it is": {
			in:   `{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"a"}}}}`,
			want: `{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"a"}}}}`,
		},
		"customVersion becomes the label": {
			in:   `{"metadata":{"labels":{"a":"b"}},"spec":{"customVersion":"v1"}}`,
			want: `{"metadata":{"labels":{"apps.kruise.io/sidecarset-custom-version":"v1","a":"b"}}}`,
		},
	})
}

const (
	oldRequest = `{"metadata":{"annotations":{"crr.apps.kruise.io/unready-acquired":"2026-01-02T03:04:05Z",
		"crr.apps.kruise.io/sync-container-statuses":"[{\"name\":\"a\",\"ready\":true,\"restartCount\":1,\"containerID\":\"c://1\"}]"}},
		"spec":{"podName":"p","containers":[{"name":"a"}],"strategy":{"failurePolicy":"Ignore"}},"status":{"phase":"Recreating"}}`
	newRequest = `{"spec":{"podName":"p","containers":[{"name":"a"}],"strategy":{"failurePolicy":"Ignore"}},
		"status":{"phase":"Recreating","containerStatusSnapshot":[{"name":"a","ready":true,"restartCount":1,"containerID":"c://1"}],
		"conditions":[{"type":"PreRecreateGrace","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"PreRecreateGrace",
		"message":"Pod has been forced to not-ready for unreadyGracePeriodSeconds drain"}]}}`
)

func TestContainerRecreateRequestDown(t *testing.T) {
	runConversions[v1beta1.ContainerRecreateRequest, ContainerRecreateRequest](t, map[string]conversionCase{
		"snapshot and condition become annotations": {in: newRequest, want: oldRequest},
		"nothing yet": {in: `{"spec":{"podName":"p"}}`, want: `{"spec":{"podName":"p"}}`},
		"a condition that is not True": {
			in: `{"status":{"conditions":[{"type":"PreRecreateGrace","status":"False","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"a","message":""}]}}`,
			want: `{"metadata":{"annotations":{"internal.kruise.io/conversion-data":
				"{\"base\":{\"status\":{}},\"full\":{\"status\":{\"conditions\":[{\"lastTransitionTime\":\"2026-01-02T03:04:05Z\",\"message\":\"\",\"reason\":\"a\",\"status\":\"False\",\"type\":\"PreRecreateGrace\"}]}}}"}}}`,
		},
	})
}

// The annotations stay in v1beta1 when somebody wrote the object as v1alpha1.
func TestContainerRecreateRequestUp(t *testing.T) {
	const annotations = `"metadata":{"annotations":{"crr.apps.kruise.io/unready-acquired":"2026-01-02T03:04:05Z",
		"crr.apps.kruise.io/sync-container-statuses":"[{\"name\":\"a\",\"ready\":true,\"restartCount\":1,\"containerID\":\"c://1\"}]"}},`
	const unreadable = `"metadata":{"annotations":{"crr.apps.kruise.io/unready-acquired":"soon","crr.apps.kruise.io/sync-container-statuses":"{"}}`
	runConversions[ContainerRecreateRequest, v1beta1.ContainerRecreateRequest](t, map[string]conversionCase{
		"annotations become snapshot and condition": {in: oldRequest, want: `{` + annotations + newRequest[1:]},
		"unreadable annotations say nothing":        {in: `{` + unreadable + `}`, want: `{` + unreadable + `}`},
	})
}

func TestNodeImage(t *testing.T) {
	runConversions[v1beta1.NodeImage, NodeImage](t, map[string]conversionCase{
		"the mode of pull secrets travels": {
			in: `{"spec":{"images":{"a":{"pullSecrets":[{"name":"x","mode":"batch"}],"tags":[{"tag":"1"}]},"b":{"tags":[{"tag":"1"}]}}}}`,
			want: `{"metadata":{"annotations":{"internal.kruise.io/conversion-data":
				"{\"base\":{\"spec\":{\"images\":{\"a\":{\"pullSecrets\":[{\"name\":\"x\"}]}}}},\"full\":{\"spec\":{\"images\":{\"a\":{\"pullSecrets\":[{\"mode\":\"batch\",\"name\":\"x\"}]}}}}}"}},
				"spec":{"images":{"a":{"pullSecrets":[{"name":"x"}],"tags":[{"tag":"1"}]},"b":{"tags":[{"tag":"1"}]}}}}`,
		},
	})
}

// An older job controller adds a secret and a tag by v1alpha1.
func TestNodeImageEditedThroughTheOldVersion(t *testing.T) {
	in := v1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1beta1.NodeImageSpec{Images: map[string]v1beta1.ImageSpec{
		"a": {PullSecrets: []v1beta1.ReferenceObject{{Name: "x", Mode: "batch"}}, Tags: []v1beta1.ImageTagSpec{{Tag: "1"}}},
	}}}
	want := in.DeepCopy()
	want.Spec.Images["a"] = v1beta1.ImageSpec{
		PullSecrets: []v1beta1.ReferenceObject{{Name: "old"}, {Name: "x", Mode: "batch"}},
		Tags:        []v1beta1.ImageTagSpec{{Tag: "1"}, {Tag: "2"}},
	}
	var old NodeImage
	var got v1beta1.NodeImage
	if err := Convert_v1beta1_NodeImage_To_v1alpha1_NodeImage(&in, &old, nil); err != nil {
		t.Fatal(err)
	}
	image := old.Spec.Images["a"]
	image.PullSecrets = append([]ReferenceObject{{Name: "old"}}, image.PullSecrets...)
	image.Tags = append(image.Tags, v1beta1.ImageTagSpec{Tag: "2"})
	old.Spec.Images["a"] = image
	if err := Convert_v1alpha1_NodeImage_To_v1beta1_NodeImage(&old, &got, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
