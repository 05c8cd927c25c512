// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
)

// stuckPods are pods of an updated StatefulSet that its controller waits for in vain: not ready, of an older revision, and
// to be updated. It replaces no pod before all that come after it are ready, so that a bad template could never be mended.
func stuckPods(s *snapshot, live *liveSubset) []*corev1.Pod {
	if s.adapter.kind() != (statefulSetAdapter{}).kind() || !live.partitioned || live.object.GetLabels()[appsv1beta1.SubsetRevisionLabel] != s.update {
		return nil
	}
	var out []*corev1.Pod
	for _, pod := range live.pods {
		n, numbered := ordinalOf(pod.Name)
		if numbered && n >= live.partition && pod.DeletionTimestamp == nil && pod.Labels[appsv1beta1.SubsetRevisionLabel] != s.update && !pods.IsReady(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// ordinalOf is the number at the end of the name of a StatefulSet's pod.
func ordinalOf(name string) (int32, bool) {
	n, err := strconv.ParseInt(name[strings.LastIndex(name, "-")+1:], 10, 32)
	return int32(n), err == nil
}
