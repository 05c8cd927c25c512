// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
	"github.com/flotilla-sh/flotilla/spoke/workload"
)

var unitedDeployment = appsv1beta1.SchemeGroupVersion.WithKind("UnitedDeployment")

// observer reads, from caches, what a report is made of.
type observer struct {
	// ours knows the objects of slices.
	ours client.Reader
	// spoke knows workloads and pods.
	spoke client.Reader
	// watched tells whether ours knows a kind: asking it for one that we have no right to read would hold
	// up the report until its pass ends.
	watched func(schema.GroupVersionKind) bool
	clock   clock.PassiveClock
}

// observe looks at a slice's first object, and at its WorkloadSpread.
func (o observer) observe(ctx context.Context, key, spread recentKey) (observation, error) {
	seen, err := o.first(ctx, key)
	if err != nil || spread.name.Name == "" || !o.watched(spread.kind) {
		return seen, err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(spread.kind)
	if err := o.ours.Get(ctx, spread.name, obj); err != nil {
		return seen, client.IgnoreNotFound(err)
	}
	seen.spread, err = spreadCounters(obj, seen.subsets, o.clock.Now())
	return seen, err
}

// first looks at a slice's first object.
func (o observer) first(ctx context.Context, key recentKey) (observation, error) {
	if !o.watched(key.kind) {
		return observation{}, nil // nothing of the kind has been applied
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(key.kind)
	err := o.ours.Get(ctx, key.name, obj)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return observation{}, nil
	}
	if err != nil {
		return observation{}, err
	}
	seen := observation{object: obj}
	if isUnitedDeployment(key.kind) {
		views, err := o.subsets(ctx, obj)
		seen.subsets = views
		return seen, err
	}
	view, ok := wholeView(obj)
	if !ok {
		return seen, nil
	}
	view.pods, err = workload.Pods(ctx, o.spoke, key.kind, obj.GetNamespace(), obj.GetUID())
	seen.subsets = []subsetView{view}
	return seen, err
}

// subsets looks at each subset that the UnitedDeployment lists.
func (o observer) subsets(ctx context.Context, obj *unstructured.Unstructured) ([]subsetView, error) {
	var ud appsv1beta1.UnitedDeployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &ud); err != nil {
		return nil, fmt.Errorf("%s: %w", describe(obj), err)
	}
	views := make(map[string]*subsetView, len(ud.Spec.Topology.Subsets))
	out := make([]subsetView, len(ud.Spec.Topology.Subsets))
	for i := range ud.Spec.Topology.Subsets {
		name := ud.Spec.Topology.Subsets[i].Name
		out[i] = subsetView{name: name, countPods: true}
		views[name] = &out[i]
	}
	for _, s := range ud.Status.SubsetStatuses {
		if v := views[s.Name]; v != nil {
			v.desired, v.partition = s.Replicas, s.Partition
		}
	}
	for _, add := range []func(context.Context, *appsv1beta1.UnitedDeployment, map[string]*subsetView) error{o.cloneSets, o.deployments} {
		if err := add(ctx, &ud, views); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o observer) cloneSets(ctx context.Context, ud *appsv1beta1.UnitedDeployment, views map[string]*subsetView) error {
	if ud.Spec.Template.CloneSetTemplate == nil {
		return nil
	}
	var list appsv1beta1.CloneSetList
	if err := o.spoke.List(ctx, &list, client.InNamespace(ud.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing CloneSets: %w", err)
	}
	for i := range list.Items {
		set := &list.Items[i]
		v := views[set.Labels[appsv1beta1.SubsetNameLabel]]
		if v == nil || !ownership.IsControlledBy(set, ud.UID) {
			continue
		}
		v.desired = ptr.Deref(set.Spec.Replicas, 1)
		v.replicas += set.Status.Replicas
		v.ready += set.Status.ReadyReplicas
		v.available += set.Status.AvailableReplicas
		if err := o.pods(ctx, v, set); err != nil {
			return err
		}
	}
	return nil
}

func (o observer) deployments(ctx context.Context, ud *appsv1beta1.UnitedDeployment, views map[string]*subsetView) error {
	if ud.Spec.Template.DeploymentTemplate == nil {
		return nil
	}
	var list appsv1.DeploymentList
	if err := o.spoke.List(ctx, &list, client.InNamespace(ud.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Deployments: %w", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		v := views[d.Labels[appsv1beta1.SubsetNameLabel]]
		if v == nil || !ownership.IsControlledBy(d, ud.UID) {
			continue
		}
		v.desired = ptr.Deref(d.Spec.Replicas, 1)
		v.replicas += d.Status.Replicas
		v.ready += d.Status.ReadyReplicas
		v.available += d.Status.AvailableReplicas
		if err := o.pods(ctx, v, d); err != nil {
			return err
		}
	}
	return nil
}

func (o observer) pods(ctx context.Context, v *subsetView, owner client.Object) error {
	kind := appsv1beta1.SchemeGroupVersion.WithKind("CloneSet")
	if _, ok := owner.(*appsv1.Deployment); ok {
		kind = workload.Deployment
	}
	list, err := workload.Pods(ctx, o.spoke, kind, owner.GetNamespace(), owner.GetUID())
	v.pods = append(v.pods, list...)
	return err
}
