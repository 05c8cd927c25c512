// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/events"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/podset/execute"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// pass is one reconcile of one CloneSet: what was read, and what became of it.
type pass struct {
	*Reconciler
	// set has its defaults filled in, stored is as the API server has it.
	set, stored *appsv1beta1.CloneSet

	// began is when the pass began, thought how long it took to the plan.
	began   time.Time
	thought time.Duration

	now      time.Time
	selector labels.Selector
	pods     []*corev1.Pod
	claims   []*corev1.PersistentVolumeClaim
	history  *revision.Result
	snapshot *podset.Snapshot
	rules    *podset.Rules
	plan     podset.Plan
	outcome  execute.Outcome
}

// gather reads everything. It stops the pass while the cache lags behind our own writes.
func (p *pass) gather(ctx context.Context) (steps.Outcome, error) {
	p.now = p.Clock.Now()
	selector, err := metav1.LabelSelectorAsSelector(p.set.Spec.Selector)
	if err != nil || selector.Empty() {
		return p.refuse(ctx, "spec.selector is empty or cannot be read: nothing is done")
	}
	if !selector.Matches(labels.Set(p.set.Spec.Template.Labels)) { // every pod made would be let go of and made again
		return p.refuse(ctx, "spec.selector does not match the labels of spec.template: nothing is done")
	}
	if !selector.Matches(labels.Set(appsv1beta1.CloneSetPodLabels(p.set.Spec.Template.Labels))) {
		return p.refuse(ctx, "spec.selector asks for labels that each pod gets by itself (revision, instance, state): nothing is done")
	}
	p.selector = selector
	var wait time.Duration
	if p.pods, wait, err = p.listPods(ctx); err != nil || wait > 0 {
		return steps.Outcome{RequeueAfter: wait, Stop: true}, err
	}
	if p.claims, wait, err = p.listClaims(ctx); err != nil || wait > 0 {
		return steps.Outcome{RequeueAfter: wait, Stop: true}, err
	}
	return steps.Outcome{}, p.release(ctx)
}

// refuse ends the pass over a set whose selector cannot be worked with, and says so.
func (p *pass) refuse(ctx context.Context, message string) (steps.Outcome, error) {
	p.events.Publish(events.Warning(p.stored, waitSelector, "Reconcile", message))
	status := refused(p.stored, message, p.now)
	if equality.Semantic.DeepEqual(&p.stored.Status, &status) {
		return steps.Outcome{Stop: true}, nil
	}
	return steps.Outcome{Stop: true}, p.writeStatus(ctx, &status)
}

func (p *pass) listPods(ctx context.Context) ([]*corev1.Pod, time.Duration, error) {
	list, err := p.podsOf.Of(p.set)
	if err != nil {
		return nil, 0, fmt.Errorf("list pods: %w", err)
	}
	return execute.Observe(ctx, p.executor, p.set, list, func() *corev1.Pod { return &corev1.Pod{} })
}

// listClaims leaves terminating claims out: they are as good as gone and hold nothing up.
func (p *pass) listClaims(ctx context.Context) ([]*corev1.PersistentVolumeClaim, time.Duration, error) {
	all, err := p.claimsOf.Of(p.set)
	if err != nil {
		return nil, 0, fmt.Errorf("list claims: %w", err)
	}
	all, wait, err := execute.Observe(ctx, p.executor, p.set, all, func() *corev1.PersistentVolumeClaim { return &corev1.PersistentVolumeClaim{} })
	var out []*corev1.PersistentVolumeClaim
	for _, claim := range all {
		if claim.DeletionTimestamp == nil {
			out = append(out, claim)
		}
	}
	return out, wait, err
}

// release gives pods up whose labels no longer match the selector.
func (p *pass) release(ctx context.Context) error {
	var kept []*corev1.Pod
	for _, pod := range p.pods {
		if pod.DeletionTimestamp != nil || p.selector.Matches(labels.Set(pod.Labels)) {
			kept = append(kept, pod)
			continue
		}
		body := fmt.Sprintf(`{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, pod.UID, p.set.UID)
		released := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
		err := p.client.Patch(ctx, released, client.RawPatch(types.StrategicMergePatchType, []byte(body)), client.DisableReadYourWritesConsistency)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release pod %s: %w", pod.Name, err)
		}
		p.events.Publish(events.Normal(p.stored, "ReleasedPod", "Release", "pod "+pod.Name+" no longer matches the selector"))
	}
	p.pods = kept
	return nil
}

// revision finds or makes the revision of the template.
func (p *pass) revision(ctx context.Context) (steps.Outcome, error) {
	owner := revision.Owner{
		Object: p.set, GVK: appsv1beta1.Kind("CloneSet"), Selector: p.set.Spec.Selector,
		Template: &p.set.Spec.Template, Annotations: claimTemplateAnnotation(p.set.Spec.VolumeClaimTemplates),
	}
	history, err := p.revisions.Ensure(ctx, owner, p.set.Status.CurrentRevision, p.set.Status.CollisionCount)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return steps.Outcome{Stop: true}, nil // nothing can be made any more, and the set goes as well
	}
	if err != nil {
		p.events.Publish(events.Warning(p.stored, "FailedRevision", "Reconcile", err.Error()))
		return steps.Outcome{Stop: true}, err
	}
	p.history = history
	return steps.Outcome{}, nil
}
