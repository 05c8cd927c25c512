// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

const (
	// defaultTimeout bounds one pull, seconds.
	defaultTimeout = 300
	// fewReplicas are updated before a pull is of use.
	fewReplicas = 3
	// keepFinished is how long a finished job stays, seconds.
	keepFinished = 600
	backoffLimit = 1
)

// Rollout is what a workload's kind knows of the rollout it is in.
type Rollout struct {
	// Namespace of the workload.
	Namespace string
	// Selector of its pods.
	Selector *metav1.LabelSelector
	// Current and Update are its revisions, From and To the templates in them.
	Current, Update *appsv1.ControllerRevision
	From, To        *corev1.PodTemplateSpec
	// Replicas it wants; UpdatedReady are ready at the update revision.
	Replicas, UpdatedReady int
	// Useless says why a pull ahead is of no use to this rollout; empty when it is of use.
	Useless string
	// Settings of the workload.
	Settings Settings
}

// Settings are a user's.
type Settings struct {
	// Parallelism is how many nodes pull at once; nil means 1.
	Parallelism *intstr.IntOrString
	// TimeoutSeconds bounds one pull; nil means 300.
	TimeoutSeconds *int32
	// MinUpdatedReady is how many updated pods must be ready before anything is pulled.
	MinUpdatedReady int
}

// Plan is what to do.
type Plan struct {
	// Clean: the pull jobs of the workload are no longer needed.
	Clean bool
	// Jobs to make. They have no owner yet.
	Jobs []*appsv1beta1.ImagePullJob
	// Mark is a label to put on the update revision with value "true"; empty means none.
	Mark string
	// Because says why, for people to read.
	Because string
}

// Make plans one pass.
func Make(r *Rollout) Plan {
	switch {
	case r.Current.Name == r.Update.Name:
		return Plan{Clean: true, Because: "there is no rollout"}
	case Settled(r.Update):
		return Plan{Because: "the revision was looked at before"}
	case r.UpdatedReady < r.Settings.MinUpdatedReady:
		return Plan{Because: "too few updated pods are ready"}
	case r.Useless != "":
		return Plan{Mark: appsv1beta1.ImagePreDownloadIgnoredKey, Because: r.Useless}
	case r.Replicas <= fewReplicas:
		return Plan{Mark: appsv1beta1.ImagePreDownloadIgnoredKey, Because: "there are too few pods"}
	}
	return Plan{Jobs: jobs(r), Mark: appsv1beta1.ImagePreDownloadCreatedKey, Because: "images changed"}
}

// Settled says whether a revision was looked at before: nothing is to be done for it.
func Settled(r *appsv1.ControllerRevision) bool {
	return r.Labels[appsv1beta1.ImagePreDownloadCreatedKey] == "true" || r.Labels[appsv1beta1.ImagePreDownloadIgnoredKey] == "true"
}

// jobs has one job for each container whose image is another one than before.
func jobs(r *Rollout) []*appsv1beta1.ImagePullJob {
	before := map[string]string{}
	for i := range r.From.Spec.Containers {
		before[r.From.Spec.Containers[i].Name] = r.From.Spec.Containers[i].Image
	}
	var out []*appsv1beta1.ImagePullJob
	for i := range r.To.Spec.Containers {
		if c := &r.To.Spec.Containers[i]; before[c.Name] != c.Image {
			out = append(out, job(r, c))
		}
	}
	return out
}

func job(r *Rollout, c *corev1.Container) *appsv1beta1.ImagePullJob {
	hash := pods.ShortHash(r.Update.Name)
	labels := maps.Clone(r.To.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1beta1.ControllerHashLabel] = cmp.Or(r.Update.Labels[appsv1beta1.ControllerHashLabel], hash)
	var secrets []string
	for _, secret := range r.To.Spec.ImagePullSecrets {
		secrets = append(secrets, secret.Name)
	}
	parallelism := r.Settings.Parallelism
	if parallelism == nil {
		parallelism = ptr.To(intstr.FromInt32(1))
	}
	out := &appsv1beta1.ImagePullJob{}
	out.Namespace, out.Name, out.Labels = r.Namespace, r.Update.Name+"-"+c.Name, labels
	out.Spec = appsv1beta1.ImagePullJobSpec{Image: c.Image, ImagePullJobTemplate: appsv1beta1.ImagePullJobTemplate{
		PullSecrets: secrets,
		PodSelector: &appsv1beta1.ImagePullJobPodSelector{LabelSelector: notUpdated(r)},
		Parallelism: parallelism,
		PullPolicy: &appsv1beta1.PullPolicy{
			BackoffLimit: ptr.To[int32](backoffLimit), TimeoutSeconds: ptr.To(ptr.Deref(r.Settings.TimeoutSeconds, defaultTimeout)),
		},
		CompletionPolicy: appsv1beta1.CompletionPolicy{Type: appsv1beta1.CompletionPolicyAlways, TTLSecondsAfterFinished: ptr.To[int32](keepFinished)},
		SandboxConfig:    &appsv1beta1.SandboxConfig{Labels: maps.Clone(r.To.Labels), Annotations: maps.Clone(r.To.Annotations)},
	}}
	return out
}

// notUpdated selects the workload's pods that are not at the update revision, in either form of its hash.
func notUpdated(r *Rollout) metav1.LabelSelector {
	out := *r.Selector.DeepCopy()
	out.MatchExpressions = append(slices.Clip(out.MatchExpressions), metav1.LabelSelectorRequirement{
		Key: appsv1beta1.ControllerRevisionHashLabel, Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{r.Update.Name, pods.ShortHash(r.Update.Name)},
	})
	return out
}
