// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func TestSetCompat(t *testing.T) {
	t0, t1 := metav1.Unix(100, 0), metav1.Unix(200, 0)
	base := appsv1beta1.Condition{Type: "A", Status: corev1.ConditionTrue, Reason: "R", Message: "m", LastTransitionTime: t0}
	for name, tc := range map[string]struct {
		list    []appsv1beta1.Condition
		set     appsv1beta1.Condition
		want    []appsv1beta1.Condition
		changed bool
	}{
		"new":     {nil, appsv1beta1.Condition{Type: "A", Status: "True", Reason: "R", Message: "m"}, []appsv1beta1.Condition{withTime(base, t1)}, true},
		"equal":   {[]appsv1beta1.Condition{base}, appsv1beta1.Condition{Type: "A", Status: "True", Reason: "R", Message: "m"}, []appsv1beta1.Condition{base}, false},
		"message": {[]appsv1beta1.Condition{base}, appsv1beta1.Condition{Type: "A", Status: "True", Reason: "R", Message: "n"}, []appsv1beta1.Condition{{Type: "A", Status: "True", Reason: "R", Message: "n", LastTransitionTime: t0}}, true},
		"reason":  {[]appsv1beta1.Condition{base}, appsv1beta1.Condition{Type: "A", Status: "True", Reason: "S"}, []appsv1beta1.Condition{{Type: "A", Status: "True", Reason: "S", LastTransitionTime: t0}}, true},
		"status":  {[]appsv1beta1.Condition{base}, appsv1beta1.Condition{Type: "A", Status: "False", Reason: "R"}, []appsv1beta1.Condition{{Type: "A", Status: "False", Reason: "R", LastTransitionTime: t1}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			list := append([]appsv1beta1.Condition(nil), tc.list...)
			if got := SetCompat(&list, tc.set, t1); got != tc.changed {
				t.Errorf("changed = %v, want %v", got, tc.changed)
			}
			if d := cmp.Diff(tc.want, list); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRemoveCompat(t *testing.T) {
	list := []appsv1beta1.Condition{{Type: "A"}, {Type: "B"}}
	if !RemoveCompat(&list, "A") || RemoveCompat(&list, "A") || len(list) != 1 || list[0].Type != "B" {
		t.Errorf("list = %v", list)
	}
}

func withTime(c appsv1beta1.Condition, at metav1.Time) appsv1beta1.Condition {
	c.LastTransitionTime = metav1.NewTime(at.Time.In(time.Local))
	return c
}
