// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepodprobe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
)

const (
	// mostBytes bounds the object of a node with its results; etcd takes no more than 1.5 MiB.
	mostBytes = 5 << 18
	// resultBytes is what a probe's result may take: a message, which agents cut to 1280 bytes of JSON, names and times.
	resultBytes = 1536
)

// wish is a probe that a marker asks for in a pod.
type wish struct {
	pod    *corev1.Pod
	marker *v1alpha1.PodProbeMarker
	probe  v1alpha1.ContainerProbe
}

// leftOut counts the probes of a marker that there is no room for.
type leftOut struct {
	marker *v1alpha1.PodProbeMarker
	probes int
}

// on says in words what is left out of a node's object.
func (l *leftOut) on(node string) string {
	return fmt.Sprintf("%d of its probes are not run on node %s: all that are asked for in namespace %s take more than the namespace's share of "+
		"NodePodProbe %s, which holds %d KiB; ask for fewer probes, in fewer pods, or for shorter ones", l.probes, node, l.marker.Namespace, node, mostBytes>>10)
}

// costOf is how many bytes of the object a probe of a pod takes, at most: as it is asked for, and its result.
func costOf(pod *corev1.Pod, probe *v1alpha1.ContainerProbe) int {
	text, err := json.Marshal(probe)
	if err != nil {
		return mostBytes // as are all that cannot be written
	}
	return len(text) + resultBytes + 2*(len(pod.Namespace)+len(pod.Name)+len(pod.UID))
}

// grant says which wishes there is room for, by pods and in their order, and which there is not.
func grant(wishes []wish, room int) (granted map[types.UID][]v1alpha1.ContainerProbe, left []leftOut) {
	costs, needs := make([]int, len(wishes)), map[string]int{}
	for i := range wishes {
		costs[i] = costOf(wishes[i].pod, &wishes[i].probe)
		needs[wishes[i].pod.Namespace] += costs[i]
	}
	shares := sharesOf(needs, room)
	granted = map[types.UID][]v1alpha1.ContainerProbe{}
	for i := range wishes {
		w := &wishes[i]
		if costs[i] <= shares[w.pod.Namespace] {
			shares[w.pod.Namespace] -= costs[i]
			granted[w.pod.UID] = append(granted[w.pod.UID], w.probe)
			continue
		}
		at := slices.IndexFunc(left, func(l leftOut) bool { return l.marker == w.marker })
		if at < 0 {
			at, left = len(left), append(left, leftOut{marker: w.marker})
		}
		left[at].probes++
	}
	return granted, left
}

// sharesOf divides the room between namespaces by their needs: none gets more than it needs, and what one leaves goes to
// those that need more than an even share.
func sharesOf(needs map[string]int, room int) map[string]int {
	names := slices.SortedFunc(maps.Keys(needs), func(a, b string) int {
		return cmp.Or(cmp.Compare(needs[a], needs[b]), cmp.Compare(a, b))
	})
	out := make(map[string]int, len(names))
	for i, name := range names {
		out[name] = min(needs[name], max(0, room)/(len(names)-i))
		room -= out[name]
	}
	return out
}
