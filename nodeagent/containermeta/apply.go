// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package containermeta

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// fieldOwner is the name under which the annotation is written.
const fieldOwner = client.FieldOwner("nodeagent-containermeta")

// patchOf returns the strategic merge patch that puts the report on the pod with this UID and on no other.
func patchOf(uid types.UID, set v1beta1.RuntimeContainerMetaSet) ([]byte, error) {
	value, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         uid,
		"annotations": map[string]string{v1beta1.RuntimeContainerMetaKey: string(value)},
	}})
}

// write puts the report on the pod. A pod that is gone, or has made way for another of its name, is no error.
func write(ctx context.Context, c client.Client, pod *corev1.Pod, set v1beta1.RuntimeContainerMetaSet) error {
	patch, err := patchOf(pod.UID, set)
	if err != nil {
		return err
	}
	target := &corev1.Pod{}
	target.Namespace, target.Name = pod.Namespace, pod.Name
	err = c.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch), fieldOwner)
	switch {
	case err == nil:
		patches.WithLabelValues("written").Inc()
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		patches.WithLabelValues("gone").Inc()
	default:
		patches.WithLabelValues("failed").Inc()
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
