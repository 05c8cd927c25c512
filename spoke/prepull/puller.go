// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

// Events of a workload about its pull jobs. The second is of type Normal, as dashboards know it; the third is ours.
const (
	reasonCreated = "CreatedImagePullJob"
	reasonFailed  = "FailedCreateImagePullJob"
	reasonIgnored = "IgnoredImagePreDownload"
)

// Puller carries plans out. Its client's cache must have index ownership.ControllerUIDIndex on ImagePullJobs.
type Puller struct {
	Client     client.Client
	Events     events.Publisher
	FieldOwner string
}

// Carry makes a workload's pull jobs, marks the revision, or deletes the jobs. A second call with the same plan
// changes nothing.
func (p *Puller) Carry(ctx context.Context, owner client.Object, gvk schema.GroupVersionKind, update *appsv1.ControllerRevision, plan Plan) error {
	if plan.Clean {
		return p.clean(ctx, owner)
	}
	var errs []error
	for _, job := range plan.Jobs {
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}
		if err := p.create(ctx, owner, job); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 || plan.Mark == "" {
		return errors.Join(errs...)
	}
	body := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:"true"}}}`, update.UID, plan.Mark)
	marked := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: update.Namespace, Name: update.Name}}
	err := p.Client.Patch(ctx, marked, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner(p.FieldOwner))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label revision %s: %w", update.Name, err)
	}
	if plan.Mark == appsv1beta1.ImagePreDownloadIgnoredKey {
		p.Events.Publish(events.Normal(owner, reasonIgnored, "PreDownload", fmt.Sprintf("no image of revision %s is pulled ahead: %s", update.Name, plan.Because)))
	}
	return nil
}

// create makes a job. One that is there was made by an earlier pass.
func (p *Puller) create(ctx context.Context, owner client.Object, job *appsv1beta1.ImagePullJob) error {
	err := p.Client.Create(ctx, job, client.FieldOwner(p.FieldOwner))
	switch {
	case err == nil:
		p.Events.Publish(events.Normal(owner, reasonCreated, "PreDownload", fmt.Sprintf("created ImagePullJob %s for image %s", job.Name, job.Spec.Image)))
	case apierrors.IsAlreadyExists(err):
	case apierrors.IsInvalid(err):
		p.Events.Publish(events.Normal(owner, reasonFailed, "PreDownload", fmt.Sprintf("failed to create ImagePullJob %s for image %s: %v", job.Name, job.Spec.Image, err)))
	default:
		return fmt.Errorf("create ImagePullJob %s: %w", job.Name, err)
	}
	return nil
}

// clean deletes every pull job that the workload controls.
func (p *Puller) clean(ctx context.Context, owner client.Object) error {
	var list appsv1beta1.ImagePullJobList
	err := p.Client.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency,
		client.MatchingFields{ownership.ControllerUIDIndex: string(owner.GetUID())})
	if err != nil {
		return fmt.Errorf("list ImagePullJobs: %w", err)
	}
	var errs []error
	for i := range list.Items {
		job := &list.Items[i]
		if job.DeletionTimestamp != nil {
			continue
		}
		gone := &appsv1beta1.ImagePullJob{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
		err := p.Client.Delete(ctx, gone, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete ImagePullJob %s: %w", job.Name, err))
		}
	}
	return errors.Join(errs...)
}
