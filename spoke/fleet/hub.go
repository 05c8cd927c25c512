// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// errNoHub says that the hub has not been reached yet, or not since its credentials changed.
var errNoHub = errors.New("not connected to the hub")

// pageSize is how many slices one request for a complete list asks for.
const pageSize = 500

// hub is one connection: its cache has been filled from the hub.
type hub struct {
	// namespace of this cluster on the hub.
	namespace string
	// client writes, and reads from the API server.
	client client.Client
	// cached reads from the cache, which is complete as of some moment.
	cached client.Reader
}

// connection is the present hub, if there is one.
type connection struct{ atomic.Pointer[hub] }

// current returns the hub, or errNoHub.
func (c *connection) current() (*hub, error) {
	if h := c.Load(); h != nil {
		return h, nil
	}
	return nil, errNoHub
}

// slice reads one slice from the cache; nil when there is none.
func (h *hub) slice(ctx context.Context, name string) (*fleetv1alpha1.FleetSlice, error) {
	var out fleetv1alpha1.FleetSlice
	if err := h.cached.Get(ctx, client.ObjectKey{Namespace: h.namespace, Name: name}, &out); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &out, nil
}

// complete reads all slices from the API server, to the last page.
func (h *hub) complete(ctx context.Context) ([]fleetv1alpha1.FleetSlice, error) {
	var out []fleetv1alpha1.FleetSlice
	var page fleetv1alpha1.FleetSliceList
	for {
		err := h.client.List(ctx, &page, client.InNamespace(h.namespace), client.Limit(pageSize), client.Continue(page.Continue))
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if page.Continue == "" {
			return out, nil
		}
		page.Items = nil
	}
}

// dropFinalizer lets the slice go. The patch fails when the finalizer has moved in the list; reports
// written meanwhile do not make it fail.
func (h *hub) dropFinalizer(ctx context.Context, slice *fleetv1alpha1.FleetSlice) error {
	path := fmt.Sprintf("/metadata/finalizers/%d", slices.Index(slice.Finalizers, fleetv1alpha1.SliceFinalizer))
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": "/metadata/uid", "value": string(slice.UID)},
		{"op": "test", "path": path, "value": fleetv1alpha1.SliceFinalizer},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return err
	}
	err = h.client.Patch(ctx, slice.DeepCopy(), client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(agentOwner))
	return client.IgnoreNotFound(err)
}

// report writes a slice's status and returns the slice after it.
func (h *hub) report(ctx context.Context, name string, status *fleetv1alpha1.FleetSliceStatus) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"status": content}}
	obj.SetGroupVersionKind(fleetv1alpha1.SchemeGroupVersion.WithKind("FleetSlice"))
	obj.SetNamespace(h.namespace)
	obj.SetName(name)
	err = h.client.SubResource("status").Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(agentOwner), client.ForceOwnership)
	return obj, err
}
