// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch is a change of one pod. The zero value changes nothing. Conditions go to the status
// subresource, which takes labels and annotations along; resources go to the resize subresource, alone;
// images and finalizers can only go to the pod itself. Split cuts a patch that has more than one of these.
type Patch struct {
	// Labels to set; nil removes the label.
	Labels map[string]*string
	// Annotations to set; nil removes the annotation.
	Annotations map[string]*string
	// Finalizers to add.
	Finalizers []string
	// Images by container name.
	Images map[string]string
	// Resources by container name: the values to set; others stay.
	Resources map[string]corev1.ResourceRequirements
	// Conditions to set, keyed by type.
	Conditions []corev1.PodCondition
}

// Empty says whether the patch changes nothing.
func (p *Patch) Empty() bool {
	return len(p.Labels)+len(p.Annotations)+len(p.Finalizers)+len(p.Images)+len(p.Resources)+len(p.Conditions) == 0
}

// Label sets a label.
func (p *Patch) Label(key, value string) { set(&p.Labels, key, &value) }

// DropLabel removes a label.
func (p *Patch) DropLabel(key string) { set(&p.Labels, key, nil) }

// Annotate sets an annotation.
func (p *Patch) Annotate(key, value string) { set(&p.Annotations, key, &value) }

// DropAnnotation removes an annotation.
func (p *Patch) DropAnnotation(key string) { set(&p.Annotations, key, nil) }

// Image sets the image of a container.
func (p *Patch) Image(container, image string) {
	if p.Images == nil {
		p.Images = map[string]string{}
	}
	p.Images[container] = image
}

// Resize sets values of a container's resources.
func (p *Patch) Resize(container string, values corev1.ResourceRequirements) {
	if p.Resources == nil {
		p.Resources = map[string]corev1.ResourceRequirements{}
	}
	p.Resources[container] = values
}

// Merge adds the other patch on top: where both set a key, the other wins.
func (p *Patch) Merge(other Patch) {
	for key, value := range other.Labels {
		set(&p.Labels, key, value)
	}
	for key, value := range other.Annotations {
		set(&p.Annotations, key, value)
	}
	for name, image := range other.Images {
		p.Image(name, image)
	}
	for name := range other.Resources {
		p.Resize(name, other.Resources[name])
	}
	for _, finalizer := range other.Finalizers {
		if !slices.Contains(p.Finalizers, finalizer) {
			p.Finalizers = append(p.Finalizers, finalizer)
		}
	}
	for _, condition := range other.Conditions {
		p.Conditions = withCondition(p.Conditions, condition)
	}
}

// Split returns the writes that the patch needs, in order: conditions, what goes to the pod itself, resources.
// Conditions take labels and annotations along where nothing else goes to the pod itself. Resources come last, so that
// what is written of them is there before they change.
func (p *Patch) Split() []Patch {
	rest := *p
	rest.Resources = nil
	var out []Patch
	if len(p.Conditions) > 0 && len(p.Images)+len(p.Finalizers)+len(p.Resources) > 0 {
		out, rest.Conditions = append(out, Patch{Conditions: p.Conditions}), nil
	}
	if !rest.Empty() {
		out = append(out, rest)
	}
	if len(p.Resources) > 0 {
		out = append(out, Patch{Resources: p.Resources})
	}
	return out
}

// OnStatus says whether the patch must go to the status subresource.
func (p *Patch) OnStatus() bool { return len(p.Conditions) > 0 }

// OnResize says whether the patch must go to the resize subresource.
func (p *Patch) OnResize() bool { return len(p.Resources) > 0 }

// JSON renders the strategic-merge patch. uid is a precondition always; resourceVersion, when not
// empty, makes the server refuse the patch for any other version of the pod.
func (p *Patch) JSON(uid types.UID, resourceVersion string) ([]byte, error) {
	metadata := map[string]any{"uid": uid}
	if resourceVersion != "" {
		metadata["resourceVersion"] = resourceVersion
	}
	if len(p.Labels) > 0 {
		metadata["labels"] = p.Labels
	}
	if len(p.Annotations) > 0 {
		metadata["annotations"] = p.Annotations
	}
	if len(p.Finalizers) > 0 {
		metadata["finalizers"] = p.Finalizers
	}
	body := map[string]any{"metadata": metadata}
	if containers := p.containers(); len(containers) > 0 {
		body["spec"] = map[string]any{"containers": containers}
	}
	if len(p.Conditions) > 0 {
		conditions := make([]map[string]any, len(p.Conditions))
		for i := range p.Conditions {
			conditions[i] = conditionJSON(&p.Conditions[i])
		}
		body["status"] = map[string]any{"conditions": conditions}
	}
	return json.Marshal(body)
}

// containers are the changes of containers in JSON, in order of their names.
func (p *Patch) containers() []map[string]any {
	out := make([]map[string]any, 0, len(p.Images)+len(p.Resources))
	for _, name := range slices.Sorted(maps.Keys(p.Images)) {
		out = append(out, map[string]any{"name": name, "image": p.Images[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Resources)) {
		out = append(out, map[string]any{"name": name, "resources": p.Resources[name]})
	}
	return out
}

// ApplyTo changes the pod as the server would; tests and simulations use it.
func (p *Patch) ApplyTo(pod *corev1.Pod) {
	pod.Labels = withKeys(pod.Labels, p.Labels)
	pod.Annotations = withKeys(pod.Annotations, p.Annotations)
	for _, finalizer := range p.Finalizers {
		if !slices.Contains(pod.Finalizers, finalizer) {
			pod.Finalizers = append(slices.Clone(pod.Finalizers), finalizer)
		}
	}
	if len(p.Images)+len(p.Resources) > 0 {
		pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if image, ok := p.Images[c.Name]; ok {
			c.Image = image
		}
		if values, ok := p.Resources[c.Name]; ok {
			c.Resources.Limits = withValues(c.Resources.Limits, values.Limits)
			c.Resources.Requests = withValues(c.Resources.Requests, values.Requests)
		}
	}
	for _, condition := range p.Conditions {
		pod.Status.Conditions = withCondition(slices.Clone(pod.Status.Conditions), condition)
	}
}

// conditionJSON spells out an empty reason or message as null: left out, the merge would keep what
// the pod has.
func conditionJSON(c *corev1.PodCondition) map[string]any {
	out := map[string]any{
		"type": c.Type, "status": c.Status, "reason": nil, "message": nil,
		"lastTransitionTime": c.LastTransitionTime,
	}
	if !c.LastProbeTime.IsZero() {
		out["lastProbeTime"] = c.LastProbeTime
	}
	if c.Reason != "" {
		out["reason"] = c.Reason
	}
	if c.Message != "" {
		out["message"] = c.Message
	}
	return out
}

func set(m *map[string]*string, key string, value *string) {
	if *m == nil {
		*m = map[string]*string{}
	}
	(*m)[key] = value
}

func withValues(current, change corev1.ResourceList) corev1.ResourceList {
	if len(change) == 0 {
		return current
	}
	out := maps.Clone(current)
	if out == nil {
		out = corev1.ResourceList{}
	}
	maps.Copy(out, change)
	return out
}

func withKeys(current map[string]string, change map[string]*string) map[string]string {
	if len(change) == 0 {
		return current
	}
	out := maps.Clone(current)
	if out == nil {
		out = map[string]string{}
	}
	for key, value := range change {
		if value == nil {
			delete(out, key)
			continue
		}
		out[key] = *value
	}
	return out
}

func withCondition(list []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	for i := range list {
		if list[i].Type == c.Type {
			list[i] = c
			return list
		}
	}
	return append(list, c)
}
