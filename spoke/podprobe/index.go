// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

const (
	// NodeIndex finds the pods of a node by its name.
	NodeIndex = "podprobe.node"
	// MarkerIndex finds the NodePodProbes that have probes of a PodProbeMarker, by namespace/name.
	MarkerIndex = "podprobe.marker"
)

// AddIndexes registers the indexes. Call it once for a manager.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1.Pod{}, NodeIndex, byNode); err != nil {
		return fmt.Errorf("index of pods: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.NodePodProbe{}, MarkerIndex, byMarker); err != nil {
		return fmt.Errorf("index of NodePodProbes: %w", err)
	}
	return nil
}

func byNode(obj client.Object) []string {
	pod, ok := obj.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

func byMarker(obj client.Object) []string {
	npp, ok := obj.(*v1alpha1.NodePodProbe)
	if !ok {
		return nil
	}
	keys := MarkersIn(npp)
	out := make([]string, 0, len(keys))
	for key := range keys {
		out = append(out, key.String())
	}
	return out
}

// MarkersIn are the PodProbeMarkers that a NodePodProbe has probes of.
func MarkersIn(npp *v1alpha1.NodePodProbe) map[client.ObjectKey]bool {
	out := map[client.ObjectKey]bool{}
	for i := range npp.Spec.PodProbes {
		pod := &npp.Spec.PodProbes[i]
		for j := range pod.Probes {
			if marker, _, ok := v1alpha1.SplitNodeProbeName(pod.Probes[j].Name); ok {
				out[client.ObjectKey{Namespace: pod.Namespace, Name: marker}] = true
			}
		}
	}
	return out
}

// NodesWith are the names of the nodes whose NodePodProbes have probes of a marker, in order.
func NodesWith(ctx context.Context, c client.Reader, marker client.ObjectKey) ([]string, error) {
	var list v1alpha1.NodePodProbeList
	if err := c.List(ctx, &list, client.MatchingFields{MarkerIndex: marker.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	nodes := map[string]bool{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = true
	}
	return slices.Sorted(maps.Keys(nodes)), nil
}

// MarkersOf are the markers of a namespace that are in force, not to be changed.
func MarkersOf(ctx context.Context, c client.Reader, namespace string) ([]Marker, error) {
	var list v1alpha1.PodProbeMarkerList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return Markers(list.Items), nil
}

// PodsOf are the pods that a marker selects, not to be changed.
func PodsOf(ctx context.Context, c client.Reader, m Marker) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(m.Namespace), client.MatchingLabelsSelector{Selector: m.selector}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}
