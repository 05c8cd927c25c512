// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/spoke/budget"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// finder finds the budgets of pods and workloads.
type finder struct {
	// seen is the cache, live the API server.
	seen, live client.Reader
}

// budgets are those of a namespace, by name. They are the cache's own and must not be changed.
func (f *finder) budgets(ctx context.Context, namespace string) ([]budget.Budget, error) {
	var list policyv1beta1.PodUnavailableBudgetList
	if err := f.seen.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing budgets: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b budget.Budget) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// ofPod is the name of the budget that is to protect a pod; empty when none is. Where the workload cannot be found
// out, selectors alone count, and the error says why.
func (f *finder) ofPod(ctx context.Context, pod *corev1.Pod) (string, error) {
	list, err := f.budgets(ctx, pod.Namespace)
	if err != nil || len(list) == 0 {
		return "", err
	}
	var owner *metav1.OwnerReference
	if slices.ContainsFunc(list, func(b budget.Budget) bool { return b.Spec.TargetReference != nil }) {
		owner, err = workload.OfPod(ctx, f, pod)
	}
	for i := range list {
		if protects(&list[i], pod, owner) {
			return list[i].Name, nil
		}
	}
	return "", err
}

// Get reads from the cache, and what it does not have from the API server: a ReplicaSet is hardly older than its first
// pods.
func (f *finder) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := f.seen.Get(ctx, key, obj, opts...)
	if apierrors.IsNotFound(err) {
		return f.live.Get(ctx, key, obj, opts...)
	}
	return err
}

// List reads from the cache.
func (f *finder) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return f.seen.List(ctx, list, opts...)
}

func protects(b *budget.Budget, pod *corev1.Pod, owner *metav1.OwnerReference) bool {
	if target := b.Spec.TargetReference; target != nil && owner != nil {
		return names(target, owner.APIVersion, owner.Kind, owner.Name)
	}
	return selects(b, pod.Labels)
}

// names says whether a target is that workload, in whatever version.
func names(target *policyv1beta1.TargetReference, apiVersion, kind, name string) bool {
	return target.Kind == kind && target.Name == name &&
		schema.FromAPIVersionAndKind(target.APIVersion, "").Group == schema.FromAPIVersionAndKind(apiVersion, "").Group
}

// selects says whether the budget's selector matches; one that is empty or cannot be read matches nothing.
func selects(b *budget.Budget, podLabels map[string]string) bool {
	if b.Spec.Selector == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(podLabels))
}

// ofWorkload are the names of the budgets that count by a workload: it is their target, or their selector matches the
// labels of its pods.
func (f *finder) ofWorkload(ctx context.Context, obj client.Object, gvk schema.GroupVersionKind) []string {
	list, err := f.budgets(ctx, obj.GetNamespace())
	if err != nil {
		return nil
	}
	_, podLabels := workload.Wanted(obj)
	var out []string
	for i := range list {
		target := list[i].Spec.TargetReference
		if target != nil && names(target, gvk.GroupVersion().String(), gvk.Kind, obj.GetName()) || target == nil && selects(&list[i], podLabels) {
			out = append(out, list[i].Name)
		}
	}
	return out
}

// stale says whether a pod needs a stamp: it has none, or that of a budget that is gone.
func (f *finder) stale(ctx context.Context, pod *corev1.Pod) bool {
	name := budget.NameOf(pod)
	if name == "" {
		return true
	}
	err := f.seen.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &budget.Budget{}, client.UnsafeDisableDeepCopy)
	return apierrors.IsNotFound(err)
}
