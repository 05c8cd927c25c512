// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// instances makes the pods and claims of a CloneSet. It implements execute.Builder for one pass.
type instances struct {
	set   *appsv1beta1.CloneSet
	short bool
	now   time.Time
	// reusable are instance ids whose claims wait for a pod.
	reusable []string
	// taken are the ids of all pods and claims there are.
	taken  map[string]bool
	claims []*corev1.PersistentVolumeClaim
	// templates by revision name, read once.
	templates map[string]*corev1.PodTemplateSpec
	// newID draws a random id.
	newID func() string
}

func newInstances(p *pass) *instances {
	out := &instances{
		set: p.set, short: p.ShortHash, now: p.now, claims: p.claims, taken: map[string]bool{},
		templates: map[string]*corev1.PodTemplateSpec{}, newID: func() string { return rand.String(idLength) },
	}
	for _, pod := range p.pods {
		out.taken[instanceID(p.set, pod)] = true
	}
	bound := map[string]bool{}
	for _, claim := range p.claims {
		id := claim.Labels[appsv1beta1.CloneSetInstanceID]
		bound[id] = bound[id] || claim.Status.Phase == corev1.ClaimBound
		if id != "" && !out.taken[id] {
			out.taken[id] = true
			out.reusable = append(out.reusable, id)
		}
	}
	slices.Sort(out.reusable)
	// Those that hold data first: one that was made for a pod which never came to be can wait.
	slices.SortStableFunc(out.reusable, func(a, b string) int { return cmp.Compare(rank(bound[a]), rank(bound[b])) })
	return out
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// id returns a waiting id, or a random one that nothing of this set uses.
func (b *instances) id() string {
	if len(b.reusable) > 0 {
		id := b.reusable[0]
		b.reusable = b.reusable[1:]
		return id
	}
	for {
		if id := b.newID(); !b.taken[id] {
			b.taken[id] = true
			return id
		}
	}
}

// Build implements execute.Builder. It is not safe for concurrent use.
func (b *instances) Build(c podset.Create) (*corev1.Pod, []*corev1.PersistentVolumeClaim, error) {
	template, err := b.template(c.Revision)
	if err != nil {
		return nil, nil, err
	}
	id := b.id()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.set.Namespace, Name: b.set.Name + "-" + id, GenerateName: b.set.Name + "-",
			Labels: map[string]string{}, Annotations: map[string]string{}, Finalizers: slices.Clone(template.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b.set, appsv1beta1.Kind("CloneSet"))},
		},
		Spec: *template.Spec.DeepCopy(),
	}
	copyUnmarked(pod.Labels, template.Labels)
	maps.Copy(pod.Labels, revisionLabels(c.Revision, b.short))
	pod.Labels[appsv1beta1.CloneSetInstanceID] = id
	pod.Labels[appsv1beta1.LifecycleStateKey] = string(appsv1beta1.LifecycleStatePreparingNormal)
	copyUnmarked(pod.Annotations, template.Annotations)
	pod.Annotations[appsv1beta1.LifecycleTimestampKey] = b.now.UTC().Format(time.RFC3339)
	for _, gate := range []corev1.PodConditionType{appsv1beta1.InPlaceUpdateReady, appsv1beta1.KruisePodReadyConditionType} {
		addReadinessGate(pod, gate)
	}
	mountClaims(pod, b.set, id)
	missing := slices.DeleteFunc(newClaims(b.set, id), func(c *corev1.PersistentVolumeClaim) bool {
		return slices.ContainsFunc(b.claims, func(have *corev1.PersistentVolumeClaim) bool { return have.Name == c.Name })
	})
	return pod, missing, nil
}

// copyUnmarked copies what a template passes on to its pods: a pod that is made with the mark to be deleted would be
// deleted and made for ever.
func copyUnmarked(pod, template map[string]string) {
	for key, value := range template {
		if !appsv1beta1.IsPodMark(key) {
			pod[key] = value
		}
	}
}

// instanceID is what pairs a pod with its claims. The pod's name ends in it, which nobody can change; a pod that has
// its name from somebody else has the label only.
func instanceID(set *appsv1beta1.CloneSet, pod *corev1.Pod) string {
	prefix := set.Name + "-"
	if id, ok := strings.CutPrefix(pod.Name, prefix); ok && pod.GenerateName == prefix {
		return id
	}
	return pod.Labels[appsv1beta1.CloneSetInstanceID]
}

func (b *instances) template(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	if r == nil {
		return nil, fmt.Errorf("the revision to create a pod of is not known")
	}
	if t, ok := b.templates[r.Name]; ok {
		return t, nil
	}
	t, err := revision.Template(r)
	if err != nil {
		return nil, err
	}
	b.templates[r.Name] = t
	return t, nil
}

// Claims implements execute.Builder: the claims of the pod's instance.
func (b *instances) Claims(pod *corev1.Pod) []*corev1.PersistentVolumeClaim {
	id := instanceID(b.set, pod)
	if id == "" {
		return nil
	}
	var out []*corev1.PersistentVolumeClaim
	for _, claim := range b.claims {
		if claim.Labels[appsv1beta1.CloneSetInstanceID] == id {
			out = append(out, claim)
		}
	}
	return out
}

// ReusesClaims implements execute.Builder.
func (b *instances) ReusesClaims() bool { return b.set.Spec.ScaleStrategy.EnablePVCReuse }

// addReadinessGate adds a gate of ours. Admission adds the second one to pods of all our workloads; here it costs
// nothing, and admission has nothing left to change.
func addReadinessGate(pod *corev1.Pod, gate corev1.PodConditionType) {
	if !pods.HasReadinessGate(pod, gate) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
	}
}

// mountClaims puts the claims' volumes first; they take the place of the template's of the same name.
func mountClaims(pod *corev1.Pod, set *appsv1beta1.CloneSet, id string) {
	var volumes []corev1.Volume
	mine := map[string]bool{}
	for i := range set.Spec.VolumeClaimTemplates {
		name := set.Spec.VolumeClaimTemplates[i].Name
		mine[name] = true
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(name, set.Name, id)},
		}})
	}
	for i := range pod.Spec.Volumes {
		if !mine[pod.Spec.Volumes[i].Name] {
			volumes = append(volumes, pod.Spec.Volumes[i])
		}
	}
	pod.Spec.Volumes = volumes
}
