// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/events"
)

// fieldOwner is the name under which the status is written.
const fieldOwner = client.FieldOwner("nodeagent-probes")

// writeStatus replaces the results of the very object (UID) that was looked at. Only this agent writes them, so
// that the spec may have changed meanwhile does no harm.
func writeStatus(ctx context.Context, c client.Client, npp *v1alpha1.NodePodProbe, statuses []v1alpha1.PodProbeStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": npp.UID},
		"status":   map[string]any{"podProbeStatuses": statuses},
	})
	if err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	target := &v1alpha1.NodePodProbe{}
	target.Name = npp.Name
	err = c.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case err == nil:
		patches.WithLabelValues("written").Inc()
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		patches.WithLabelValues("gone").Inc()
	default:
		patches.WithLabelValues("failed").Inc()
		return fmt.Errorf("write the results: %w", err)
	}
	return nil
}

// tell makes events of new states, on their pods.
func (r *Reconciler) tell(transitions []result, pods map[types.NamespacedName]*corev1.Pod) {
	byUID := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byUID[pod.UID] = pod
	}
	for i := range transitions {
		t := &transitions[i]
		pod := byUID[t.uid]
		reason, known := map[v1alpha1.ProbeState]string{
			v1alpha1.ProbeSucceeded: v1alpha1.KruiseProbeSucceededReason, v1alpha1.ProbeFailed: v1alpha1.KruiseProbeFailedReason,
		}[t.state]
		if pod == nil || !known {
			continue
		}
		note := t.message
		if note == "" {
			note = fmt.Sprintf("Probe %s of container %s: %s", t.probe, t.container, t.state)
		}
		r.Events.Publish(events.Normal(pod, reason, "Probe", note).Of("spec.containers{" + t.container + "}/" + t.probe))
	}
}

// patienceOf spreads the refreshes of nodes over time, always the same for a node.
func patienceOf(node string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(node)) // a hash never fails to write
	return refreshAfter + time.Duration(h.Sum32())%refreshSpread
}
