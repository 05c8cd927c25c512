// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// Outside is the name under which pods of no subset are grouped.
const Outside = appsv1beta1.WorkloadSpreadFakeSubset

// Unversioned is the version of pods whose versions are not told apart.
const Unversioned = appsv1beta1.WorkloadSpreadVersionIgnored

// Match is what a pod's annotation says of the subset it was given.
type Match struct {
	// Name of the WorkloadSpread.
	Name string `json:"name"`
	// Subset of it.
	Subset string `json:"subset"`
	// UID is under what the pod is in the books, when it had no name as it was let in.
	UID string `json:"uid,omitempty"`
}

// MatchOf reads the pod's annotation, whatever the case of its keys. It returns false without one that can be read.
func MatchOf(pod *corev1.Pod) (Match, bool) {
	m := Match{}
	if err := json.Unmarshal([]byte(pod.Annotations[appsv1beta1.MatchedWorkloadSpreadKey]), &m); err != nil {
		return Match{}, false
	}
	return m, m.Name != "" && m.Subset != ""
}

// Annotation is the match as it stands on pods.
func (m Match) Annotation() string {
	text, _ := json.Marshal(m) //nolint:errchkjson // strings alone
	return string(text)
}

// Version is the version of a pod among those of its workload; versioned tells whether they are told apart.
func Version(pod *corev1.Pod, versioned bool) string {
	if !versioned {
		return Unversioned
	}
	if hash := pod.Labels["pod-template-hash"]; hash != "" {
		return hash
	}
	if hash := pods.ShortHash(pods.Revision(pod)); hash != "" {
		return hash
	}
	return Unversioned
}

// Group sorts the pods by subset, as their annotations say. Pods of a subset that is gone are Outside; those that
// say nothing of the WorkloadSpread of that name are strangers.
func Group(name string, subsets []appsv1beta1.WorkloadSpreadSubset, all []*corev1.Pod) (groups map[string][]*corev1.Pod, strangers []*corev1.Pod) {
	known := map[string]bool{}
	for i := range subsets {
		known[subsets[i].Name] = true
	}
	groups = map[string][]*corev1.Pod{}
	for _, pod := range all {
		m, ok := MatchOf(pod)
		switch {
		case !ok || m.Name != name:
			strangers = append(strangers, pod)
		case !known[m.Subset]:
			groups[Outside] = append(groups[Outside], pod)
		default:
			groups[m.Subset] = append(groups[m.Subset], pod)
		}
	}
	return groups, strangers
}
