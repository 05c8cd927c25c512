// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func template(images ...string) *corev1.PodTemplateSpec {
	out := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "a"},
	}}
	out.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "key"}}
	for i, image := range images {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Image: image})
	}
	return out
}

func revision(name string, labels ...string) *appsv1.ControllerRevision {
	out := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		out.Labels[label] = "true"
	}
	return out
}

func rollout(change func(*Rollout)) *Rollout {
	out := &Rollout{
		Namespace: "ns", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Current: revision("web-1"), Update: revision("web-2"),
		From: template("main:1", "log:1"), To: template("main:2", "log:1", "new:1"), Replicas: 4,
	}
	if change != nil {
		change(out)
	}
	return out
}

func TestMake(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Rollout)
		jobs   int
		mark   string
		clean  bool
	}{
		"images changed":     {nil, 2, appsv1beta1.ImagePreDownloadCreatedKey, false},
		"no rollout":         {func(r *Rollout) { r.Update = r.Current }, 0, "", true},
		"made before":        {func(r *Rollout) { r.Update = revision("web-2", appsv1beta1.ImagePreDownloadCreatedKey) }, 0, "", false},
		"passed over before": {func(r *Rollout) { r.Update = revision("web-2", appsv1beta1.ImagePreDownloadIgnoredKey) }, 0, "", false},
		"too few ready":      {func(r *Rollout) { r.Settings.MinUpdatedReady, r.UpdatedReady = 2, 1 }, 0, "", false},
		"enough ready":       {func(r *Rollout) { r.Settings.MinUpdatedReady, r.UpdatedReady = 2, 2 }, 2, appsv1beta1.ImagePreDownloadCreatedKey, false},
		"waits before it judges": {
			func(r *Rollout) { r.Settings.MinUpdatedReady, r.Useless = 2, "recreated" }, 0, "", false,
		},
		"three pods":       {func(r *Rollout) { r.Replicas = 3 }, 0, appsv1beta1.ImagePreDownloadIgnoredKey, false},
		"of no use":        {func(r *Rollout) { r.Useless = "recreated" }, 0, appsv1beta1.ImagePreDownloadIgnoredKey, false},
		"same images":      {func(r *Rollout) { r.To = template("main:1", "log:1") }, 0, appsv1beta1.ImagePreDownloadCreatedKey, false},
		"no labels at all": {func(r *Rollout) { r.To.Labels, r.Update.Labels = nil, nil }, 2, appsv1beta1.ImagePreDownloadCreatedKey, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Make(rollout(tc.change))
			if len(got.Jobs) != tc.jobs || got.Mark != tc.mark || got.Clean != tc.clean || got.Because == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestJobs(t *testing.T) {
	got := Make(rollout(func(r *Rollout) {
		r.Update.Labels[appsv1beta1.ControllerHashLabel] = "2"
		r.To = template("main:2", "log:1")
		r.Settings.TimeoutSeconds = ptr.To[int32](60)
	})).Jobs
	want := &appsv1beta1.ImagePullJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-2-a", Labels: map[string]string{"app": "web", "controller.kubernetes.io/hash": "2"}},
		Spec: appsv1beta1.ImagePullJobSpec{Image: "main:2", ImagePullJobTemplate: appsv1beta1.ImagePullJobTemplate{
			PullSecrets: []string{"key"},
			PodSelector: &appsv1beta1.ImagePullJobPodSelector{LabelSelector: metav1.LabelSelector{
				MatchLabels: map[string]string{"app": "web"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{
					Key: "controller-revision-hash", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"web-2", "2"},
				}},
			}},
			Parallelism:      ptr.To(intstr.FromInt32(1)),
			PullPolicy:       &appsv1beta1.PullPolicy{BackoffLimit: ptr.To[int32](1), TimeoutSeconds: ptr.To[int32](60)},
			CompletionPolicy: appsv1beta1.CompletionPolicy{Type: "Always", TTLSecondsAfterFinished: ptr.To[int32](600)},
			SandboxConfig:    &appsv1beta1.SandboxConfig{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"team": "a"}},
		}},
	}
	if diff := cmp.Diff([]*appsv1beta1.ImagePullJob{want}, got); diff != "" {
		t.Error("-want +got:\n", diff)
	}
}
