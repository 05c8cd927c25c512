// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Inject gives a new pod what its subset asks for: tolerations, affinity, the patch and the annotation of the match.
// The pod is changed in place, or not at all when the patch cannot be applied.
func Inject(pod *corev1.Pod, subset *appsv1beta1.WorkloadSpreadSubset, match Match) error {
	changed := pod.DeepCopy()
	changed.Spec.Tolerations = append(changed.Spec.Tolerations, subset.Tolerations...)
	direct(changed, subset)
	if len(subset.Patch.Raw) > 0 {
		patched, err := merged(changed, subset.Patch.Raw)
		if err != nil {
			return fmt.Errorf("patch of subset %s: %w", subset.Name, err)
		}
		changed = patched
	}
	// The number was computed from the class that the pod came with; the API server computes it anew when it is unset, and
	// refuses the pod when it differs.
	if changed.Spec.PriorityClassName != pod.Spec.PriorityClassName {
		changed.Spec.Priority = nil
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[appsv1beta1.MatchedWorkloadSpreadKey] = match.Annotation()
	*pod = *changed
	return nil
}

// direct adds the subset's terms to the pod's affinity. Terms are alternatives, so each gets what is required.
func direct(pod *corev1.Pod, subset *appsv1beta1.WorkloadSpreadSubset) {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	to := pod.Spec.Affinity.NodeAffinity
	for i := range subset.PreferredNodeSelector {
		to.PreferredDuringSchedulingIgnoredDuringExecution = append(to.PreferredDuringSchedulingIgnoredDuringExecution, *subset.PreferredNodeSelector[i].DeepCopy())
	}
	required := subset.RequiredNodeSelector
	if required == nil {
		return
	}
	if to.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		to.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	terms := &to.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(*terms) == 0 {
		*terms = []corev1.NodeSelectorTerm{*required.DeepCopy()}
		return
	}
	for i := range *terms {
		more := required.DeepCopy()
		(*terms)[i].MatchExpressions = append((*terms)[i].MatchExpressions, more.MatchExpressions...)
		(*terms)[i].MatchFields = append((*terms)[i].MatchFields, more.MatchFields...)
	}
}

func merged(pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	raw, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	if raw, err = strategicpatch.StrategicMergePatch(raw, patch, &corev1.Pod{}); err != nil {
		return nil, err
	}
	out := &corev1.Pod{}
	return out, json.Unmarshal(raw, out)
}
