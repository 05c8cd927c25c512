// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobemarker

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/spoke/podprobe"
)

// Serverless is the step of pod admission that gives pods the probes along, for virtual kubelets to run.
type Serverless struct {
	// Reader finds the markers of a namespace, from a cache: every new pod asks.
	Reader client.Reader
}

// Name of the step.
func (Serverless) Name() string { return "custom probes" }

// Mutate puts the probes of all markers that select the pod into its annotations.
func (s Serverless) Mutate(ctx context.Context, pod *corev1.Pod) (bool, error) {
	markers, err := podprobe.MarkersOf(ctx, s.Reader, pod.Namespace)
	if err != nil {
		return false, err
	}
	probes, names := alongWith(pod, markers)
	if len(probes) == 0 {
		return false, nil
	}
	value, err := json.Marshal(probes)
	if err != nil {
		return false, err
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.PodProbeMarkerAnnotationKey] = string(value)
	pod.Annotations[v1alpha1.PodProbeMarkerListAnnotationKey] = strings.Join(names, ",")
	return true, nil
}

// alongWith are the probes to give along, and the markers that they are of. Only what sets a condition is of use there.
// What others write is not for a probe to set. Of two probes for one condition, or of one name in one container, the first is taken.
func alongWith(pod *corev1.Pod, markers []podprobe.Marker) (probes []v1alpha1.PodContainerProbe, names []string) {
	type place struct{ container, probe string }
	conditions, places := map[string]bool{}, map[place]bool{}
	for _, m := range markers {
		if !m.Selects(pod.Labels) {
			continue
		}
		before := len(probes)
		for i := range m.Spec.Probes {
			p := m.Spec.Probes[i].DeepCopy()
			at := place{p.ContainerName, p.Name}
			if p.PodConditionType == "" || v1alpha1.TakenPodCondition(p.PodConditionType) {
				continue
			}
			if !podprobe.HasContainer(pod, p.ContainerName) || conditions[p.PodConditionType] || places[at] {
				continue
			}
			conditions[p.PodConditionType], places[at] = true, true
			p.MarkerPolicy = nil
			probes = append(probes, *p)
		}
		if len(probes) > before {
			names = append(names, m.Name)
		}
	}
	return probes, names
}
