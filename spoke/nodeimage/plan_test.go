// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(noon.Add(-d))) }

func nodeReady(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: "MemoryPressure", Status: "False"}, {Type: corev1.NodeReady, Status: status, LastTransitionTime: *ago(since)}}
	return n
}

func TestDecide(t *testing.T) {
	virtual := nodeReady("True", time.Hour)
	virtual.Labels = map[string]string{"type": "virtual-kubelet"}
	going := nodeReady("True", time.Hour)
	going.DeletionTimestamp = ago(0)
	there, fake, leaving := &appsv1beta1.NodeImage{}, &appsv1beta1.NodeImage{}, &appsv1beta1.NodeImage{}
	fake.Labels = map[string]string{"apps.kruise.io/fake-nodeimage": ""}
	leaving.DeletionTimestamp = ago(0)
	// A machine of the same name came while nobody watched. Its node is younger than the object.
	renewed := nodeReady("True", 5*time.Minute)
	renewed.CreationTimestamp = *ago(10 * time.Minute)
	aged := func(age time.Duration) *appsv1beta1.NodeImage {
		return &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *ago(age)}}
	}
	agedFake := aged(time.Hour)
	agedFake.Labels = fake.Labels
	for name, tc := range map[string]struct {
		node *corev1.Node
		obj  *appsv1beta1.NodeImage
		step Step
		wait time.Duration
	}{
		"nothing":                     {nil, nil, None, 0},
		"just ready":                  {nodeReady("True", 10*time.Second), nil, Wait, 20 * time.Second},
		"ready for long":              {nodeReady("True", 30*time.Second), nil, Create, 0},
		"not ready":                   {nodeReady("False", time.Hour), nil, None, 0},
		"says nothing of readiness":   {&corev1.Node{}, nil, None, 0},
		"virtual":                     {virtual, nil, None, 0},
		"node goes before it had one": {going, nil, None, 0},
		"node goes":                   {going, there, Delete, 0},
		"node gone":                   {nil, there, Delete, 0},
		"node gone, fake":             {nil, fake, Keep, 0},
		"there":                       {nodeReady("True", time.Hour), there, Keep, 0},
		"node no longer ready":        {nodeReady("Unknown", time.Hour), there, Keep, 0},
		"of a node of the same name that is gone": {renewed, aged(11 * time.Minute), Delete, 0},
		"fake, its node came later":               {renewed, agedFake, Keep, 0},
		"made in the second of its node":          {renewed, aged(10 * time.Minute), Keep, 0},
		"made after its node":                     {renewed, aged(9 * time.Minute), Keep, 0},
		"on its way out, its node comes back":     {nodeReady("True", time.Hour), leaving, None, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if step, wait := Decide(tc.node, tc.obj, 30*time.Second, noon); step != tc.step || wait != tc.wait {
				t.Errorf("%s, wait %s", step, wait)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1"}}}
	obj := &appsv1beta1.NodeImage{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"b": "2"}}}
	if diff := cmp.Diff(map[string]string{"a": "1"}, LabelsFor(node, obj)); diff != "" {
		t.Error(diff)
	}
	obj.Labels["apps.kruise.io/fake-nodeimage"] = "x"
	if diff := cmp.Diff(map[string]string{"a": "1", "apps.kruise.io/fake-nodeimage": "x"}, LabelsFor(node, obj)); diff != "" || len(node.Labels) != 1 {
		t.Error(diff)
	}
	if diff := cmp.Diff(obj.Labels, LabelsFor(nil, obj)); diff != "" {
		t.Error(diff)
	}
}

func job(uid string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "ImagePullJob", Namespace: "ns", Name: "j", UID: types.UID(uid)}
}

// tagged is a NodeImage with one tag of image a, asked for an hour ago, and its status.
func tagged(tag appsv1beta1.ImageTagSpec, status *appsv1beta1.ImageTagStatus) *appsv1beta1.NodeImage {
	obj := &appsv1beta1.NodeImage{}
	obj.Spec.Images = map[string]appsv1beta1.ImageSpec{"a": {Tags: []appsv1beta1.ImageTagSpec{tag}}}
	if status != nil {
		obj.Status.ImageStatuses = map[string]appsv1beta1.ImageStatus{"a": {Tags: []appsv1beta1.ImageTagStatus{*status}}}
	}
	return obj
}

func TestClean(t *testing.T) {
	asked := func(ttl int32, owners ...corev1.ObjectReference) appsv1beta1.ImageTagSpec {
		return appsv1beta1.ImageTagSpec{Tag: "1", CreatedAt: ago(time.Hour), OwnerReferences: owners, PullPolicy: &appsv1beta1.ImageTagPullPolicy{TTLSecondsAfterFinished: &ttl}}
	}
	ended := func(since time.Duration, version int64) *appsv1beta1.ImageTagStatus {
		return &appsv1beta1.ImageTagStatus{Tag: "1", Version: version, Phase: "Succeeded", CompletionTime: ago(since)}
	}
	foreign := corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "ImagePullJob", UID: "x"}
	untimed := asked(100, job("there"))
	untimed.CreatedAt = nil
	for name, tc := range map[string]struct {
		obj    *appsv1beta1.NodeImage
		owners int // that are left; -1: the tag goes
		wait   time.Duration
	}{
		"its job is there":                  {tagged(asked(100, job("there")), nil), 1, 0},
		"its job is gone":                   {tagged(asked(100, job("gone")), nil), -1, 0},
		"one of two is gone":                {tagged(asked(100, job("gone"), job("there")), nil), 1, 0},
		"an owner of another kind stays":    {tagged(asked(100, foreign), nil), 1, 0},
		"nobody was ever named":             {tagged(asked(100), nil), 0, 0},
		"without a time":                    {tagged(untimed, nil), -1, 0},
		"over since 60 of 100 s":            {tagged(asked(100, job("there")), ended(time.Minute, 0)), 1, 40 * time.Second},
		"its time is over":                  {tagged(asked(60, job("there")), ended(time.Minute, 0)), -1, 0},
		"over at another version":           {tagged(asked(60, job("there")), ended(time.Minute, 7)), 1, 0},
		"its time is over, a job waits yet": {tagged(asked(60, job("there"), job("waits")), ended(time.Hour, 0)), 2, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.obj.DeepCopy()
			got, wait := Clean(tc.obj, Known{
				Owner: func(o corev1.ObjectReference) bool { return o.UID != "gone" },
				Waits: func(o corev1.ObjectReference) bool { return o.UID == "waits" },
			}, noon)
			left := -1
			if image, ok := got["a"]; ok {
				left = len(image.Tags[0].OwnerReferences)
			}
			if left != tc.owners || wait != tc.wait {
				t.Errorf("%d owners, wait %s", left, wait)
			}
			if diff := cmp.Diff(before, tc.obj); diff != "" {
				t.Errorf("the cache's object was changed: %s", diff)
			}
		})
	}
}

// References and copies live and die together, but a copy that the cache does not show yet is not given up (IP-08).
func TestCleanSecrets(t *testing.T) {
	there := func(ref appsv1beta1.ReferenceObject) bool { return ref.Name == "there" }
	ref := func(name, mode string) appsv1beta1.ReferenceObject {
		return appsv1beta1.ReferenceObject{Namespace: "c", Name: name, Mode: mode}
	}
	for name, tc := range map[string]struct {
		status *appsv1beta1.ImageTagStatus
		want   []appsv1beta1.ReferenceObject
	}{
		"while something is pulled": {nil, []appsv1beta1.ReferenceObject{ref("there", ""), ref("there", "batch"), ref("gone", "batch")}},
		"when all has an end": {&appsv1beta1.ImageTagStatus{Tag: "1", CompletionTime: ago(0)},
			[]appsv1beta1.ReferenceObject{ref("there", ""), ref("there", "batch")}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := tagged(appsv1beta1.ImageTagSpec{Tag: "1", CreatedAt: ago(0)}, tc.status)
			image := obj.Spec.Images["a"]
			image.PullSecrets = []appsv1beta1.ReferenceObject{ref("there", ""), ref("gone", ""), ref("there", "batch"), ref("gone", "batch")}
			obj.Spec.Images["a"] = image
			got, _ := Clean(obj, Known{Secret: there}, noon)
			if diff := cmp.Diff(tc.want, got["a"].PullSecrets); diff != "" {
				t.Error(diff)
			}
		})
	}
}
