// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// setFinalizers writes the job's finalizers, which holds only for the very job that was read.
func (r *Reconciler) setFinalizers(ctx context.Context, job *v1beta1.ImagePullJob) error {
	finalizers := job.Finalizers
	if finalizers == nil {
		finalizers = []string{}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"finalizers": finalizers, "uid": job.UID, "resourceVersion": job.ResourceVersion,
	}})
	if err != nil {
		return err
	}
	target := &v1beta1.ImagePullJob{}
	target.Namespace, target.Name = job.Namespace, job.Name
	return r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldOwner)
}
