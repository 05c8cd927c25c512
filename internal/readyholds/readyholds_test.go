// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package readyholds

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestHolds(t *testing.T) {
	a, b, c := Hold{"ContainerRecreateRequest", "ns/b"}, Hold{"ContainerRecreateRequest", "ns/a"}, Hold{"Lifecycle", "preDeleteHook"}
	pod := &corev1.Pod{}
	for _, step := range []struct {
		change func([]Hold) []Hold
		want   string
		status corev1.ConditionStatus
	}{
		{func(h []Hold) []Hold { return With(h, c) }, `[{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, "False"},
		{func(h []Hold) []Hold { return With(With(h, a), b) },
			`[{"userAgent":"ContainerRecreateRequest","key":"ns/a"},{"userAgent":"ContainerRecreateRequest","key":"ns/b"},{"userAgent":"Lifecycle","key":"preDeleteHook"}]`, "False"},
		{func(h []Hold) []Hold { return With(Without(Without(h, c), b), a) }, `[{"userAgent":"ContainerRecreateRequest","key":"ns/b"}]`, "False"},
		{func(h []Hold) []Hold { return Without(h, a) }, `[]`, "True"},
	} {
		got := Condition(step.change(Of(pod)), time.Unix(0, 0))
		if got.Message != step.want || got.Status != step.status || got.Type != "KruisePodReady" {
			t.Errorf("%s %s, want %s %s", got.Status, got.Message, step.status, step.want)
		}
		pod.Status.Conditions = []corev1.PodCondition{got}
	}
	pod.Status.Conditions[0].Message = "words"
	if got := Of(pod); got != nil {
		t.Errorf("words are read as %v", got)
	}
}
