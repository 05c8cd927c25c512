// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// kindOfUD is how workloads name their controller.
var kindOfUD = appsv1beta1.SchemeGroupVersion.WithKind("UnitedDeployment")

// desired returns the workload of one subset, complete but for its name. The same routine serves
// creation and update.
func desired(ud *appsv1beta1.UnitedDeployment, a adapter, subset *appsv1beta1.Subset, revision string, want sizing) (client.Object, error) {
	marks := map[string]string{
		appsv1beta1.SubsetRevisionLabel: revision,
		appsv1beta1.SubsetNameLabel:     subset.Name,
	}
	template := &ud.Spec.Template
	obj, pod := a.draft(template, subsetSelector(ud.Spec.Selector, subset.Name), want)
	metadata := a.metadata(template)
	obj.SetNamespace(ud.Namespace)
	obj.SetGenerateName(namePrefix(ud.Name, subset.Name))
	obj.SetLabels(overlay(metadata.Labels, matchLabels(ud.Spec.Selector), marks))
	obj.SetAnnotations(overlay(metadata.Annotations, map[string]string{
		appsv1beta1.SubsetPatchAnnotation: string(subset.Patch.Raw),
	}))
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(ud, kindOfUD)})

	pod.Labels = overlay(pod.Labels, marks)
	bind(&pod.Spec, subset)
	if err := patch(pod, subset.Patch.Raw); err != nil {
		return nil, fmt.Errorf("subset %s: patch: %w", subset.Name, err)
	}
	return obj, nil
}

// subsetSelector narrows the selector to one subset.
func subsetSelector(selector *metav1.LabelSelector, subset string) *metav1.LabelSelector {
	out := selector.DeepCopy()
	if out == nil {
		out = &metav1.LabelSelector{}
	}
	out.MatchLabels = overlay(out.MatchLabels, map[string]string{appsv1beta1.SubsetNameLabel: subset})
	return out
}

func matchLabels(selector *metav1.LabelSelector) map[string]string {
	if selector == nil {
		return nil
	}
	return selector.MatchLabels
}

// overlay merges maps, later ones on top, into a new one.
func overlay(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

// namePrefix is what the names of a subset's workloads start with.
func namePrefix(ud, subset string) string {
	prefix := ud + "-" + subset + "-"
	if len(validation.NameIsDNSSubdomain(prefix, true)) > 0 {
		return ud + "-"
	}
	return prefix
}

// bind keeps the pods on the subset's nodes: its expressions are added to every required node
// selector term there is, or make the only one. A subset without expressions adds no affinity.
func bind(spec *corev1.PodSpec, subset *appsv1beta1.Subset) {
	spec.Tolerations = append(spec.Tolerations, subset.DeepCopy().Tolerations...)
	expressions := subset.DeepCopy().NodeSelectorTerm.MatchExpressions
	if len(expressions) == 0 {
		return
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	node := spec.Affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	required := node.RequiredDuringSchedulingIgnoredDuringExecution
	if len(required.NodeSelectorTerms) == 0 {
		required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, expressions...)
	}
}

// patch applies a strategic merge patch to the pod template in place. No patch changes nothing.
func patch(pod *corev1.PodTemplateSpec, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, raw, &corev1.PodTemplateSpec{})
	if err != nil {
		return err
	}
	patched := corev1.PodTemplateSpec{}
	if err := json.Unmarshal(after, &patched); err != nil {
		return err
	}
	*pod = patched
	return nil
}
