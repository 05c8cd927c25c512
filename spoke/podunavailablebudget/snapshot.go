// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// snapshot is what was seen of one budget: its active pods, which are the cache's own, and how many there should be. Where
// not all workloads could be asked, uncounted says why, and expected is no less than it was, nor than the pods there are.
type snapshot struct {
	pods      []*corev1.Pod
	expected  int32
	uncounted error
}

// gather reads everything.
func (r *Reconciler) gather(ctx context.Context, b *budget.Budget) (snapshot, error) {
	look := r.bySelector
	if b.Spec.TargetReference != nil {
		look = r.byTarget
	}
	out, err := look(ctx, b)
	if b.Spec.ProtectTotalReplicas != nil {
		out.expected = *b.Spec.ProtectTotalReplicas
	}
	return out, err
}

func (r *Reconciler) byTarget(ctx context.Context, b *budget.Budget) (snapshot, error) {
	target := b.Spec.TargetReference
	scale, err := r.scales.Scale(ctx, workload.Ref{APIVersion: target.APIVersion, Kind: target.Kind, Namespace: b.Namespace, Name: target.Name})
	if err != nil || scale == nil {
		return snapshot{}, err
	}
	found, err := r.scales.Pods(ctx, scale)
	return snapshot{pods: active(found), expected: max(0, scale.Replicas)}, err
}

func (r *Reconciler) bySelector(ctx context.Context, b *budget.Budget) (snapshot, error) {
	if b.Spec.Selector == nil {
		return snapshot{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return snapshot{}, fmt.Errorf("spec.selector: %w", err)
	}
	if selector.Empty() {
		return snapshot{}, nil
	}
	var list corev1.PodList
	err = r.find.seen.List(ctx, &list, client.InNamespace(b.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return snapshot{}, fmt.Errorf("listing pods: %w", err)
	}
	found := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	out := snapshot{pods: active(found)}
	if b.Spec.ProtectTotalReplicas == nil {
		out.expected, out.uncounted = r.wanted(ctx, out.pods)
	}
	if out.uncounted != nil { // books that waited would let pods go by numbers of long ago
		out.expected = max(out.expected, b.Status.TotalReplicas, int32(len(out.pods)))
	}
	return out, nil
}

// wanted is how many pods the workloads of some pods want together. Pods without a workload, and workloads that do not
// say, add nothing; those that cannot be asked now come as an error beside the sum of the others.
func (r *Reconciler) wanted(ctx context.Context, list []*corev1.Pod) (int32, error) {
	var sum int32
	var failed []error
	counted := map[types.UID]bool{}
	for _, pod := range list {
		direct := metav1.GetControllerOfNoCopy(pod)
		if direct == nil || counted[direct.UID] {
			continue
		}
		counted[direct.UID] = true
		owner, err := workload.OfPod(ctx, r.find, pod)
		if err != nil {
			failed = append(failed, fmt.Errorf("workload of pod %s: %w", pod.Name, err))
			continue
		}
		if owner == nil || owner.UID != direct.UID && counted[owner.UID] {
			continue
		}
		counted[owner.UID] = true
		scale, err := r.scales.Scale(ctx, workload.RefOf(pod.Namespace, owner))
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if scale != nil {
			sum += max(0, scale.Replicas)
		}
	}
	return sum, errors.Join(failed...)
}

func active(list []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range list {
		if pods.IsActive(pod) {
			out = append(out, pod)
		}
	}
	return out
}
