// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GoesWithPod is an annotation on claims: the uid of a pod that the workload deletes, and its claims with it. It is
// written before the pod is deleted, where claims outlive pods that vanish: a process that ends between the two
// deletions would leave what looks like the claim of a vanished pod. Whoever finds it deletes the claim once the pod
// is on its way out, or takes the mark away when the pod stays after all.
const GoesWithPod = "internal.kruise.io/goes-with-pod"

// MarkClaim writes the mark of a pod into a claim; an empty uid takes it away. A claim that is gone is fine, and one
// that has the mark is not written.
func (e *Executor) MarkClaim(ctx context.Context, owner client.Object, claim *corev1.PersistentVolumeClaim, pod types.UID) error {
	if claim.Annotations[GoesWithPod] == string(pod) {
		return nil
	}
	var mark any
	if pod != "" {
		mark = pod
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": claim.UID, "annotations": map[string]any{GoesWithPod: mark},
	}})
	if err != nil {
		return err
	}
	after := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}}
	err = e.Client.Patch(ctx, after, client.RawPatch(types.MergePatchType, body), e.FieldOwner, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("mark claim %s: %w", claim.Name, err)
	}
	if err == nil {
		e.Expectations.Patched(owner.GetUID(), after, e.Now())
	}
	return nil
}
