// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package ephemeraljob

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

func TestPodChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":             {func(*corev1.Pod) {}, false},
		"a container of it":   {func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}} }, false},
		"an annotation":       {func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }, false},
		"a label":             {func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web"} }, true},
		"it goes":             {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, true},
		"it ends":             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"somebody looks into": {func(p *corev1.Pod) { p.Spec.EphemeralContainers = make([]corev1.EphemeralContainer, 1) }, true},
		"and is done":         {func(p *corev1.Pod) { p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "probe"}} }, true},
	} {
		before := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		after := before.DeepCopy()
		tc.change(after)
		if got := podChanges.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestConcerns(t *testing.T) {
	selects := func(job *v1alpha1.EphemeralJob) {
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	pod := func(app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}}
	}
	with := func(pod *corev1.Pod, job string) *corev1.Pod {
		c := corev1.EphemeralContainer{}
		c.Env = []corev1.EnvVar{{Name: v1alpha1.EphemeralJobIDEnv, Value: job}}
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, c)
		return pod
	}
	for name, tc := range map[string]struct {
		job  *v1alpha1.EphemeralJob
		pod  *corev1.Pod
		want bool
	}{
		"selected":            {jobOf(selects), pod("web"), true},
		"not selected":        {jobOf(selects), pod("other"), false},
		"selected no more":    {jobOf(selects), with(pod("other"), "job"), true},
		"another's container": {jobOf(selects), with(pod("other"), "else"), false},
		"no selector":         {jobOf(), pod("web"), false},
		"the job has ended":   {jobOf(selects, func(j *v1alpha1.EphemeralJob) { j.Status.CompletionTime = &metav1.Time{} }), pod("web"), false},
		"the job is going":    {jobOf(selects, func(j *v1alpha1.EphemeralJob) { j.DeletionTimestamp = &metav1.Time{} }), pod("web"), false},
		"a selector in pieces": {jobOf(func(j *v1alpha1.EphemeralJob) {
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "/"}}
		}), pod("web"), false},
	} {
		if got := concerns(tc.job, tc.pod); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
