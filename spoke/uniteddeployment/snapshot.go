// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

// snapshot is all that one pass knows.
type snapshot struct {
	// now is when the pass began.
	now time.Time
	// ud is defaulted.
	ud *appsv1beta1.UnitedDeployment
	// adapter of the template's kind; nil when that kind is not served.
	adapter adapter
	// current and update are names of revisions.
	current, update string
	// live are the workloads of the template's kind which the UnitedDeployment controls.
	live []liveSubset
	// others are the workloads of other kinds which it controls.
	others []metav1.PartialObjectMetadata
}

// liveSubset is one workload as it is.
type liveSubset struct {
	object client.Object
	subset string
	numbers
	// pods are the cache's own, filled in for the Adaptive schedule and for StatefulSets alone.
	pods []*corev1.Pod
	// updatedReplicas and updatedReadyReplicas count active pods of the update revision.
	updatedReplicas, updatedReadyReplicas int32
}

// gatherer reads what a snapshot needs. It takes the cache as it is: to wait until it shows our own
// writes would be to wait for those of every workload, for good when the last one written was deleted
// while the watch was down. A cache that is behind does no harm: names follow from the owner and the
// subset, deletions name a uid, and what was applied is remembered.
type gatherer struct {
	cached client.Reader
	claims claimer
	// kinds are the kinds of templates this cluster knows.
	kinds []schema.GroupVersionKind
}

// lagging goes with the writes that no later read has to wait for.
const lagging = client.DisableReadYourWritesConsistency

// gather reads the workloads and their pods. Revisions are filled in by the caller.
func (g *gatherer) gather(ctx context.Context, s *snapshot) error {
	objects, err := g.claims.claim(ctx, s.ud, s.adapter)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		live := liveSubset{object: obj, subset: obj.GetLabels()[appsv1beta1.SubsetNameLabel], numbers: s.adapter.read(obj)}
		if live.subset == "" {
			continue
		}
		list, err := workload.Pods(ctx, g.cached, s.adapter.kind(), obj.GetNamespace(), obj.GetUID())
		if err != nil {
			return err
		}
		if paceOf(s.ud) != nil || s.ud.Spec.Template.StatefulSetTemplate != nil {
			live.pods = list
		}
		live.updatedReplicas, live.updatedReadyReplicas = countUpdated(list, s.update)
		s.live = append(s.live, live)
	}
	s.others, err = g.otherKinds(ctx, s)
	return err
}

// otherKinds lists what the UnitedDeployment controls in kinds its template is not of.
func (g *gatherer) otherKinds(ctx context.Context, s *snapshot) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	for _, kind := range g.kinds {
		if kind == s.adapter.kind() {
			continue
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := g.cached.List(ctx, list, client.InNamespace(s.ud.Namespace)); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for _, item := range list.Items {
			if ownership.IsControlledBy(&item, s.ud.UID) && item.Labels[appsv1beta1.SubsetNameLabel] != "" {
				item.SetGroupVersionKind(kind)
				out = append(out, item)
			}
		}
	}
	return out, nil
}

// countUpdated counts the active pods of the revision, and the ready ones among them.
func countUpdated(list []*corev1.Pod, revision string) (updated, ready int32) {
	for _, pod := range list {
		if !pods.IsActive(pod) || pod.Labels[appsv1beta1.SubsetRevisionLabel] != revision {
			continue
		}
		updated++
		if pods.IsReady(pod) {
			ready++
		}
	}
	return updated, ready
}

// claimer lists the workloads of a UnitedDeployment, takes over orphans that are its own by label
// and lets go of those its selector no longer matches.
type claimer struct {
	client.Client
	cached, live client.Reader
}

// errSelector says that no workload would be the UnitedDeployment's: nothing is let go of for that.
var errSelector = errors.New("spec.selector does not match the labels in metadata of the template in spec.template: nothing is done")

func (c claimer) claim(ctx context.Context, ud *appsv1beta1.UnitedDeployment, a adapter) ([]client.Object, error) {
	selector, err := metav1.LabelSelectorAsSelector(ud.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if !selector.Matches(labels.Set(a.metadata(&ud.Spec.Template).Labels)) {
		return nil, errSelector
	}
	_, list := a.empty()
	if err := c.cached.List(ctx, list, client.InNamespace(ud.Namespace)); err != nil {
		return nil, fmt.Errorf("listing %s: %w", a.kind().Kind, err)
	}
	var mine []client.Object
	var errs []error
	err = meta.EachListItem(list, func(item runtime.Object) error {
		obj := item.(client.Object)
		kept, err := c.settle(ctx, ud, selector, obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", obj.GetName(), err))
		}
		if kept {
			mine = append(mine, obj)
		}
		return nil
	})
	return mine, errors.Join(append(errs, err)...)
}

// settle decides whether one workload is the UnitedDeployment's and writes its owner if that changes.
func (c claimer) settle(ctx context.Context, ud *appsv1beta1.UnitedDeployment, selector labels.Selector, obj client.Object) (bool, error) {
	matches := selector.Matches(labels.Set(obj.GetLabels()))
	if metav1.GetControllerOfNoCopy(obj) != nil {
		if !ownership.IsControlledBy(obj, ud.UID) {
			return false, nil
		}
		if matches {
			return true, nil
		}
		return false, client.IgnoreNotFound(c.release(ctx, ud, obj))
	}
	if !matches || obj.GetDeletionTimestamp() != nil || obj.GetLabels()[appsv1beta1.SubsetNameLabel] == "" {
		return false, nil
	}
	if err := c.adopt(ctx, ud, obj); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return true, nil
}

// adopt makes the UnitedDeployment the controller of an orphan, after asking the API server
// whether it still is the one we know.
func (c claimer) adopt(ctx context.Context, ud *appsv1beta1.UnitedDeployment, obj client.Object) error {
	var fresh appsv1beta1.UnitedDeployment
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(ud), &fresh); err != nil {
		return err
	}
	if fresh.UID != ud.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("not taken over: UnitedDeployment %s is being deleted or was made anew", ud.Name)
	}
	before := obj.DeepCopyObject().(client.Object)
	obj.SetOwnerReferences(append(obj.GetOwnerReferences(), *metav1.NewControllerRef(ud, kindOfUD)))
	return c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), lagging)
}

func (c claimer) release(ctx context.Context, ud *appsv1beta1.UnitedDeployment, obj client.Object) error {
	changed := obj.DeepCopyObject().(client.Object)
	var rest []metav1.OwnerReference
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID != ud.UID {
			rest = append(rest, ref)
		}
	}
	changed.SetOwnerReferences(rest)
	return c.Patch(ctx, changed, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), lagging)
}
