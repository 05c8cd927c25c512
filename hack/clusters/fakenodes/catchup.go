// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fakenodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// patience is how long a fresh kwok has for the pods it finds before they are touched.
const patience = 3 * time.Second

// catchUp waits until kwok, just started, has dealt with what happened to pods while it was away. It can miss pods that
// it reads between taking a node over and learning that it has done so; those are touched, which makes it look again.
func catchUp(ctx context.Context, client kubernetes.Interface, nodes map[string]*corev1.Node) error {
	began := time.Now()
	var behind []string
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		behind = nil
		for _, pod := range list.Items {
			if _, ours := nodes[pod.Spec.NodeName]; !ours || !isBehind(&pod) {
				continue
			}
			behind = append(behind, pod.Namespace+"/"+pod.Name)
			if time.Since(began) > patience {
				if err := touch(ctx, client, &pod); err != nil {
					return false, err
				}
			}
		}
		return len(behind) == 0, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("kwok leaves pods alone: %q", behind), err)
	}
	return nil
}

// isBehind reports whether the kubelet has not seen the pod as it is. Pods whose end takes long by their own wish or by
// others' finalizers are not counted.
func isBehind(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		_, delayed := pod.Annotations["fake.flotilla.sh/stop-delay"]
		return !delayed && len(pod.Finalizers) == 0
	}
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !finished && pod.Status.ObservedGeneration != pod.Generation
}

func touch(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"fake.flotilla.sh/touched":%q}}}`, time.Now().UTC().Format(time.RFC3339Nano))
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: owner})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
