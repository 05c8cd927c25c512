// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/containerhash"
)

// claimHashKey holds the hash of the claim templates that go with a revision.
const claimHashKey = appsv1beta1.CloneSetVolumeClaimTemplateHashKey

// Options tune what counts as possible in place.
type Options struct {
	// EnvFromMetadata restarts containers whose env refers to a changed label or annotation. Without it
	// such a change means recreation.
	EnvFromMetadata bool
	// VerticalScaling changes cpu and memory of running containers. It needs the resize subresource of pods
	// (Kubernetes 1.32 and later). Without it such a change means recreation.
	VerticalScaling bool
	// CompareClaimTemplates refuses when the claim templates of the revisions differ.
	CompareClaimTemplates bool
}

// Verdict says whether the step between two revisions can be made in place.
type Verdict struct {
	// Spec is the change, nil when the pod must be recreated.
	Spec *Spec
	// Because names the field that forbids it, for people to read. Empty when Spec is set.
	Because string
}

// Diff compares the payloads of two revisions. A missing revision means recreation.
func Diff(from, to *appsv1.ControllerRevision, options Options) Verdict {
	if from == nil {
		return Verdict{Because: "the pod's revision is no longer known"}
	}
	if to == nil {
		return Verdict{Because: "the wanted revision is not known"}
	}
	if options.CompareClaimTemplates && claimTemplatesDiffer(from, to) {
		return Verdict{Because: "volumeClaimTemplates changed"}
	}
	old, oldTemplate, err := readPayload(from)
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	wanted, newTemplate, err := readPayload(to)
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	differences, err := withoutDefaults(diffTrees(nil, old, wanted), oldTemplate, newTemplate)
	if err != nil {
		return Verdict{Because: err.Error()}
	}
	spec, because := specOf(differences, oldTemplate, newTemplate, options)
	if because != "" {
		return Verdict{Because: because}
	}
	spec.Revision = to.Name
	return Verdict{Spec: spec}
}

// specOf turns the differences of two templates into a change in place, or says what forbids it.
func specOf(differences []difference, from, to *corev1.PodTemplateSpec, options Options) (spec *Spec, because string) {
	spec = &Spec{}
	for _, d := range differences {
		if !take(spec, d, from, options) {
			return nil, "template." + strings.Join(d.path, ".") + " changed"
		}
	}
	if len(spec.ContainerResources) > 0 {
		if because := cannotResize(from, to); because != "" {
			return nil, because
		}
		addRequests(spec, from)
	}
	if slices.ContainsFunc(differences, func(d difference) bool { return d.path[0] == metadataField }) {
		var err error
		if spec.MetaDataPatch, err = metadataPatch(spec, from, to); err != nil {
			return nil, err.Error()
		}
	}
	return spec, ""
}

const metadataField = "metadata"

// take notes one difference in the spec; false when it cannot be made in place.
func take(spec *Spec, d difference, old *corev1.PodTemplateSpec, options Options) bool {
	if d.path[0] == metadataField {
		// Without the agent's restart the containers would go on with the old value.
		return !recordReference(spec, d, old) || options.EnvFromMetadata
	}
	if name, image, ok := imageChange(d, old); ok {
		put(&spec.ContainerImages, name, image)
		return true
	}
	name, change, ok := resourceChange(d, old)
	if !ok || !options.VerticalScaling {
		return false
	}
	addResources(spec, name, change)
	return true
}

func claimTemplatesDiffer(from, to *appsv1.ControllerRevision) bool {
	a, haveA := from.Annotations[claimHashKey]
	b, haveB := to.Annotations[claimHashKey]
	return haveA && haveB && a != b
}

func readPayload(r *appsv1.ControllerRevision) (map[string]any, *corev1.PodTemplateSpec, error) {
	var payload struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	var tree map[string]any
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(r.Data.Raw, &payload); err != nil {
		return nil, nil, fmt.Errorf("revision %s cannot be read: %w", r.Name, err)
	}
	if err := json.Unmarshal(payload.Spec.Template, &tree); err != nil {
		return nil, nil, fmt.Errorf("revision %s cannot be read: %w", r.Name, err)
	}
	if err := json.Unmarshal(payload.Spec.Template, &template); err != nil {
		return nil, nil, fmt.Errorf("revision %s cannot be read: %w", r.Name, err)
	}
	return tree, &template, nil
}

// containerOf returns the container of the old template in which a value was replaced, and the path of the value in it.
func containerOf(d difference, old *corev1.PodTemplateSpec) (*corev1.Container, []string) {
	p := d.path
	if d.kind != replaced || len(p) < 4 || p[0] != "spec" || p[1] != "containers" {
		return nil, nil
	}
	index, err := strconv.Atoi(p[2])
	if err != nil || index >= len(old.Spec.Containers) {
		return nil, nil
	}
	return &old.Spec.Containers[index], p[3:]
}

// imageChange reads a difference as a new image of a container of the old template.
func imageChange(d difference, old *corev1.PodTemplateSpec) (name, image string, ok bool) {
	c, path := containerOf(d, old)
	if c == nil || len(path) != 1 || path[0] != "image" {
		return "", "", false
	}
	image, ok = d.value.(string)
	return c.Name, image, ok && image != ""
}

// recordReference notes the containers whose env refers to an added or replaced label or annotation, and
// says whether there are any.
func recordReference(spec *Spec, d difference, old *corev1.PodTemplateSpec) (found bool) {
	if d.kind == removed || len(d.path) != 3 {
		return false
	}
	value, ok := d.value.(string)
	annotation := d.path[1] == "annotations"
	if !ok || !annotation && d.path[1] != "labels" {
		return false
	}
	key := d.path[2]
	for i := range old.Spec.Containers {
		c := &old.Spec.Containers[i]
		if !slices.ContainsFunc(containerhash.MetadataRefs(c), func(r containerhash.MetadataRef) bool {
			return r.Annotation == annotation && r.Key == key
		}) {
			continue
		}
		meta := spec.ContainerRefMetadata[c.Name]
		if annotation {
			metav1.SetMetaDataAnnotation(&meta, key, value)
		} else {
			metav1.SetMetaDataLabel(&meta, key, value)
		}
		put(&spec.ContainerRefMetadata, c.Name, meta)
		spec.UpdateEnvFromMetadata, found = true, true
	}
	return found
}

func isMark(key, _ string) bool { return appsv1beta1.IsPodMark(key) }

// metadataPatch is the difference of the templates' metadata without the referenced keys, and without what is each
// pod's own. It names every key that goes: a pod has others than those of its template.
func metadataPatch(spec *Spec, from, to *corev1.PodTemplateSpec) ([]byte, error) {
	old := &corev1.Pod{ObjectMeta: *from.ObjectMeta.DeepCopy()}
	wanted := &corev1.Pod{ObjectMeta: *to.ObjectMeta.DeepCopy()}
	for _, meta := range []*metav1.ObjectMeta{&old.ObjectMeta, &wanted.ObjectMeta} {
		maps.DeleteFunc(meta.Labels, isMark)
		maps.DeleteFunc(meta.Annotations, isMark)
		// A map that is empty on one side would be taken away as a whole.
		metav1.SetMetaDataLabel(meta, "", "")
		metav1.SetMetaDataAnnotation(meta, "", "")
	}
	for _, meta := range spec.ContainerRefMetadata {
		for key := range meta.Labels {
			delete(old.Labels, key)
			delete(wanted.Labels, key)
		}
		for key := range meta.Annotations {
			delete(old.Annotations, key)
			delete(wanted.Annotations, key)
		}
	}
	oldRaw, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("template metadata: %w", err)
	}
	newRaw, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("template metadata: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(oldRaw, newRaw, &corev1.Pod{})
	if err != nil {
		return nil, fmt.Errorf("template metadata: %w", err)
	}
	if string(patch) == "{}" {
		return nil, nil
	}
	return patch, nil
}
