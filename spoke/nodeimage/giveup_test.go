// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/seconds"
)

func TestGiveUp(t *testing.T) {
	asked := func(since time.Duration, deadline *int64) appsv1beta1.ImageTagSpec {
		return appsv1beta1.ImageTagSpec{Tag: "1", Version: 2, CreatedAt: ago(since), PullPolicy: &appsv1beta1.ImageTagPullPolicy{ActiveDeadlineSeconds: deadline}}
	}
	pulling := func(version int64) *appsv1beta1.ImageTagStatus {
		return &appsv1beta1.ImageTagStatus{Tag: "1", Version: version, Phase: "Pulling", StartTime: ago(time.Hour)}
	}
	ended := pulling(2)
	ended.CompletionTime = ago(0)
	patient := func(since time.Duration, backoff int32) appsv1beta1.ImageTagSpec {
		tag := asked(since, nil)
		tag.PullPolicy.TimeoutSeconds, tag.PullPolicy.BackoffLimit = ptr.To[int32](600), &backoff
		if backoff == math.MaxInt32 {
			tag.PullPolicy.TimeoutSeconds = &backoff
		}
		return tag
	}
	waiting := &appsv1beta1.ImageTagStatus{Tag: "1", Version: 2, Phase: "Waiting"}
	lost := func(since time.Duration) *corev1.Node { return nodeReady(corev1.ConditionUnknown, since) }
	const silent, late = "node has not responded for a long time", "pulling exceeds the activeDeadlineSeconds"
	for name, tc := range map[string]struct {
		obj     *appsv1beta1.NodeImage
		node    *corev1.Node
		message string
		wait    time.Duration
	}{
		"nothing said for 4 minutes":           {tagged(asked(4*time.Minute, nil), nil), nil, "", 6 * time.Minute},
		"nothing said for 10 minutes":          {tagged(asked(10*time.Minute, nil), nil), nil, silent, 0},
		"only another version is spoken of":    {tagged(asked(10*time.Minute, nil), pulling(1)), nil, silent, 0},
		"pulls for long, for want of a bound":  {tagged(patient(100*time.Hour, math.MaxInt32), pulling(2)), nil, "", seconds.Most + silence - time.Hour},
		"pulls as long as its attempts may":    {tagged(patient(100*time.Hour, 4), pulling(2)), nil, "", 2*time.Minute + 30*time.Second},
		"pulls longer than its attempts may":   {tagged(patient(100*time.Hour, 3), pulling(2)), nil, silent, 0},
		"pulls longer, by its defaults":        {tagged(asked(100*time.Hour, nil), pulling(2)), nil, silent, 0},
		"waits longer than its attempts may":   {tagged(patient(time.Hour, 3), waiting), nil, silent, 0},
		"waits, its node is lost":              {tagged(patient(11*time.Minute, 4), waiting), lost(10 * time.Minute), silent, 0},
		"pulls, its node is lost":              {tagged(asked(100*time.Hour, ptr.To[int64](1e6)), pulling(2)), lost(10 * time.Minute), silent, 0},
		"pulls, its node is lost for 9 min":    {tagged(asked(100*time.Hour, ptr.To[int64](1e6)), pulling(2)), lost(9 * time.Minute), "", time.Minute},
		"asked after its node was lost":        {tagged(patient(4*time.Minute, 4), waiting), lost(time.Hour), "", 6 * time.Minute},
		"pulls, its runtime is lost":           {tagged(patient(time.Hour, 5), pulling(2)), nodeReady("False", time.Hour), "", 13 * time.Minute},
		"pulls within its deadline":            {tagged(asked(time.Minute, ptr.To[int64](60)), pulling(2)), nil, "", 10 * time.Minute},
		"pulls 10 minutes beyond its deadline": {tagged(asked(11*time.Minute, ptr.To[int64](60)), pulling(2)), nil, late, 0},
		"pulls within a distant deadline":      {tagged(asked(time.Minute, ptr.To[int64](math.MaxInt64)), pulling(2)), nil, "", seconds.Most + 9*time.Minute},
		"has an end":                           {tagged(asked(time.Hour, ptr.To[int64](60)), ended), nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.obj.DeepCopy()
			status, failures, wait := GiveUp(tc.obj, tc.node, noon)
			if wait != tc.wait || (len(failures) == 1) != (tc.message != "") {
				t.Fatalf("%v, wait %s", failures, wait)
			}
			if diff := cmp.Diff(before, tc.obj); diff != "" {
				t.Errorf("the cache's object was changed: %s", diff)
			}
			if tc.message == "" {
				return
			}
			got := status.ImageStatuses["a"].Tags
			if len(got) != 1 || got[0].Phase != "Failed" || got[0].Version != 2 || got[0].Message != tc.message || !got[0].CompletionTime.Time.Equal(noon) {
				t.Errorf("status %+v", got)
			}
			if status.Desired != 1 || status.Failed != 1 || status.Pulling != 0 {
				t.Errorf("counts %+v", status)
			}
			tc.obj.Status = status
			if _, again, _ := GiveUp(tc.obj, tc.node, noon); len(again) > 0 {
				t.Error("given up twice")
			}
		})
	}
}

// Tags take turns at the places of a node: those beside it make a tag last longer, and none is given up that may have
// waited for them.
func TestGiveUpTakesTurnsIntoAccount(t *testing.T) {
	at := func(tag string, timeout int32) appsv1beta1.ImageTagSpec {
		return appsv1beta1.ImageTagSpec{Tag: tag, CreatedAt: ago(2 * time.Hour), PullPolicy: &appsv1beta1.ImageTagPullPolicy{
			TimeoutSeconds: &timeout, BackoffLimit: ptr.To[int32](0),
		}}
	}
	const own, beside = 600, 7200
	for name, tc := range map[string]struct {
		other *appsv1beta1.ImageTagStatus
		alone bool
	}{
		"one that has not begun":        {nil, false},
		"one that is pulled":            {&appsv1beta1.ImageTagStatus{Phase: "Pulling"}, false},
		"one that ended meanwhile":      {&appsv1beta1.ImageTagStatus{Phase: "Failed", CompletionTime: ago(time.Minute)}, false},
		"one that ended before":         {&appsv1beta1.ImageTagStatus{Phase: "Succeeded", CompletionTime: ago(90 * time.Minute)}, true},
		"one that was given up as well": {&appsv1beta1.ImageTagStatus{Phase: "Failed", Message: "node has not responded for a long time", CompletionTime: ago(time.Minute)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := tagged(at("1", own), &appsv1beta1.ImageTagStatus{Tag: "1", Phase: "Pulling", StartTime: ago(time.Hour)})
			obj.Spec.Images["b"] = appsv1beta1.ImageSpec{Tags: []appsv1beta1.ImageTagSpec{at("2", beside)}}
			if tc.other != nil {
				tc.other.Tag = "2"
				obj.Status.ImageStatuses["b"] = appsv1beta1.ImageStatus{Tags: []appsv1beta1.ImageTagStatus{*tc.other}}
			}
			_, failures, _ := GiveUp(obj, nil, noon)
			gone := slices.ContainsFunc(failures, func(f Failure) bool { return f.Image == "a" })
			if gone != tc.alone {
				t.Errorf("given up: %v", failures)
			}
		})
	}
}
