// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kinds watches the kinds of targets, each from the first placement that names it.
type kinds struct {
	mapper meta.RESTMapper
	live   client.Reader
	// start begins to watch a kind.
	start func(*unstructured.Unstructured) error

	mu      sync.Mutex
	watched map[schema.GroupVersionKind]bool
}

// watch sees to it that objects of a kind are watched, or says why they cannot be placed.
func (k *kinds) watch(ctx context.Context, gvk schema.GroupVersionKind) (whyNot string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched[gvk] {
		return "", nil
	}
	if gvk.Version == "" {
		return "spec.targetRef.apiVersion cannot be read", nil
	}
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Sprintf("kind %s of %s does not exist on the hub", gvk.Kind, gvk.GroupVersion()), nil
	case err != nil:
		return "", fmt.Errorf("looking up kind %s: %w", gvk.Kind, err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return fmt.Sprintf("objects of kind %s have no namespace; a FleetPlacement places objects of its own", gvk.Kind), nil
	}
	if whyNot, err := k.readable(ctx, gvk); whyNot != "" || err != nil {
		return whyNot, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	if err := k.start(object); err != nil {
		return "", fmt.Errorf("watching kind %s: %w", gvk.Kind, err)
	}
	if k.watched == nil {
		k.watched = map[schema.GroupVersionKind]bool{}
	}
	k.watched[gvk] = true
	return "", nil
}

// readable asks once before an informer would ask in vain for ever.
func (k *kinds) readable(ctx context.Context, gvk schema.GroupVersionKind) (whyNot string, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err = k.live.List(ctx, list, client.Limit(1))
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf("the hub may not read objects of kind %s: bind a ClusterRole with get, list, watch and patch to it", gvk.Kind), nil
	}
	return "", err
}
