// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"encoding/json"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// Nodes tells whether the node that a pod runs on is one of the subset's, and the sum of the weights with which the
// subset prefers it. It is false when the node is not known.
type Nodes func(pod *corev1.Pod, subset *appsv1beta1.WorkloadSpreadSubset) (is bool, weight int64)

// Adopt puts pods that were made before the WorkloadSpread, or for another one, into the groups: each into the subset
// of the highest score, the first of equals; those that fit none are Outside. The pods are of one version, as the groups are.
// The result tells the subset of each pod that got one, by the pod's name.
func Adopt(subsets []appsv1beta1.WorkloadSpreadSubset, replicas int32, groups map[string][]*corev1.Pod, strangers []*corev1.Pod, nodes Nodes) (map[string]string, error) {
	left := make([]int64, len(subsets))
	for i := range subsets {
		quota, err := Quota(subsets[i].MaxReplicas, replicas)
		if err != nil {
			return nil, fmt.Errorf("subset %s: %w", subsets[i].Name, err)
		}
		left[i] = int64(quota) - int64(len(active(groups[subsets[i].Name])))
		if quota == Unlimited {
			left[i] = math.MaxInt64
		}
	}
	adopted := map[string]string{}
	for _, pod := range strangers {
		best, most := -1, int64(-1)
		for i := range subsets {
			if s := score(pod, &subsets[i], left[i] > 0, nodes); s > most {
				best, most = i, s
			}
		}
		name := Outside
		if best >= 0 {
			name = subsets[best].Name
			adopted[pod.Name] = name
			left[best]--
		}
		groups[name] = append(groups[name], pod)
	}
	return adopted, nil
}

// score says how well a pod fits a subset, -1 when it does not: where it runs counts most, then whether it looks like
// the subset's pods, then whether the subset takes more.
func score(pod *corev1.Pod, subset *appsv1beta1.WorkloadSpreadSubset, room bool, nodes Nodes) int64 {
	if pod.Spec.NodeName == "" {
		return -1
	}
	is, weight := nodes(pod, subset)
	if !is {
		return -1
	}
	total := weight * 100
	if alike(pod, subset.Patch.Raw) {
		total += 10
	}
	return total + int64(rank(room))
}

// alike tells whether a patch would change nothing of the pod but annotations.
func alike(pod *corev1.Pod, patch []byte) bool {
	if len(patch) == 0 {
		return true
	}
	patched, err := merged(pod, patch)
	if err != nil {
		return false
	}
	patched.Annotations = pod.Annotations
	return equality.Semantic.DeepEqual(pod, patched)
}

// AdoptionPatch is the strategic merge patch that makes a pod one of the subset's: the annotation, and the metadata of
// the subset's patch where the WorkloadSpread does not forbid it.
func AdoptionPatch(subset *appsv1beta1.WorkloadSpreadSubset, match Match, keepMetadata bool) ([]byte, error) {
	patch := struct {
		Metadata map[string]any `json:"metadata"`
	}{}
	if len(subset.Patch.Raw) > 0 && !keepMetadata {
		if err := json.Unmarshal(subset.Patch.Raw, &patch); err != nil {
			return nil, fmt.Errorf("patch of subset %s: %w", subset.Name, err)
		}
	}
	if patch.Metadata == nil {
		patch.Metadata = map[string]any{}
	}
	annotations, ok := patch.Metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
	}
	annotations[appsv1beta1.MatchedWorkloadSpreadKey] = match.Annotation()
	patch.Metadata["annotations"] = annotations
	return json.Marshal(patch)
}
