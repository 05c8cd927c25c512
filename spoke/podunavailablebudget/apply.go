// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podunavailablebudget

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1beta1 "github.com/flotilla-sh/flotilla/apis/policy/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/podpatch"
	"github.com/flotilla-sh/flotilla/spoke/budget"
)

// atOnce is how many pods are stamped at a time.
const atOnce = 8

// stamp writes the budget's name on the pods that need it.
func (r *Reconciler) stamp(ctx context.Context, b *budget.Budget, list []*corev1.Pod) error {
	var todo []*corev1.Pod
	for _, pod := range list {
		if budget.NameOf(pod) != b.Name && r.find.stale(ctx, pod) {
			todo = append(todo, pod)
		}
	}
	errs := make([]error, len(todo))
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, pod := range todo {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.stampOne(ctx, b.Name, pod)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func (r *Reconciler) stampOne(ctx context.Context, name string, pod *corev1.Pod) error {
	var patch podpatch.Patch
	patch.Annotate(policyv1beta1.PodRelatedPubKey, name)
	patch.Annotate(policyv1beta1.PodRelatedPubKeyOld, name)
	body, err := patch.JSON(pod.UID, "")
	if err != nil {
		return err
	}
	after := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
	err = r.client.Patch(ctx, after, client.RawPatch(types.StrategicMergePatchType, body), FieldOwner, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	return nil
}
