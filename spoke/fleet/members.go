// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/apply"
)

// agentOwner owns what the agent writes for itself.
const agentOwner = "spoke-fleet"

// members is this cluster's side: reads from a cache of our objects, and writes.
type members struct {
	// direct asks the API server.
	direct client.Client
	// cached knows the objects that carry our label, whole.
	cached  client.Reader
	mapper  meta.RESTMapper
	applier *apply.Applier

	mu sync.Mutex
	// recent holds what our last writes returned until the cache has it too.
	recent map[recentKey]*unstructured.Unstructured
	// allowed are kinds that this process was seen to have the right to list.
	allowed map[schema.GroupVersionKind]bool
}

type recentKey struct {
	kind schema.GroupVersionKind
	name client.ObjectKey
}

func newMembers(direct client.Client, cached client.Reader, mapper meta.RESTMapper) *members {
	return &members{direct: direct, cached: cached, mapper: mapper, applier: apply.New(direct), recent: map[recentKey]*unstructured.Unstructured{}, allowed: map[schema.GroupVersionKind]bool{}}
}

// serves tells whether the API server knows the kind.
func (m *members) serves(kind schema.GroupVersionKind) (bool, error) {
	_, err := m.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// mayRead asks the API server, until it says yes, whether objects of a served kind may be listed. The
// cache must not be asked for a kind that may not: it would wait for the right until the pass ends.
func (m *members) mayRead(ctx context.Context, kind schema.GroupVersionKind) error {
	m.mu.Lock()
	allowed := m.allowed[kind]
	m.mu.Unlock()
	if allowed {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := m.direct.List(ctx, list, client.HasLabels{fleetv1alpha1.SliceLabel}, client.Limit(1)); err != nil {
		return fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.allowed[kind] = true
	return nil
}

// live returns the object as it is, nil when there is none: ours from the cache, or newer from our
// last write; others from the API server. The kind must be served, and we must have the right to read it.
func (m *members) live(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	key := client.ObjectKeyFromObject(like)
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(like.GroupVersionKind())
	err := m.cached.Get(ctx, key, obj)
	if err == nil {
		return m.newest(obj), nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading %s: %w", describe(like), err)
	}
	err = m.direct.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		m.forget(like)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", describe(like), err)
	}
	return obj, nil
}

// newest returns the object, or what our last write made of it when that is newer.
func (m *members) newest(obj *unstructured.Unstructured) *unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := keyFor(obj)
	last, ok := m.recent[key]
	if !ok {
		return obj
	}
	if last.GetUID() == obj.GetUID() && version(last) > version(obj) {
		return last.DeepCopy()
	}
	delete(m.recent, key)
	return obj
}

// send makes one request and returns the object after it; live comes back when nothing was sent.
func (m *members) send(ctx context.Context, r request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	do := m.apply
	if r.clear != nil {
		do = m.clear
	}
	after, err := do(ctx, r, live)
	if err != nil || after == live {
		return live, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recent[keyFor(after)] = after
	return after, nil
}

// clear takes a field out of the object that was seen.
func (m *members) clear(ctx context.Context, r request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	change := map[string]any{"metadata": map[string]any{"uid": string(live.GetUID())}}
	_ = unstructured.SetNestedField(change, nil, r.clear...)
	data, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	after := r.object.DeepCopy()
	err = m.direct.Patch(ctx, after, client.RawPatch(types.MergePatchType, data), client.FieldOwner(agentOwner))
	m.applier.Forget(live)
	return after, err
}

func (m *members) apply(ctx context.Context, r request, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var known client.Object
	if live != nil {
		known = live
	}
	var result *unstructured.Unstructured
	err := inNamespace(ctx, m.direct, r.object.GetNamespace(), func() (err error) {
		result, err = m.applier.Apply(ctx, r.object, known, r.owner)
		return err
	})
	if err != nil || result == nil {
		return live, err
	}
	return result, nil
}

// delete deletes the object that was seen, in the background.
func (m *members) delete(ctx context.Context, live *unstructured.Unstructured) error {
	m.forget(live)
	if live.GetDeletionTimestamp() != nil {
		return nil
	}
	err := m.direct.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: ptr.To(live.GetUID())})
	return client.IgnoreNotFound(err)
}

// release takes our label, annotations and field ownership off the object that was seen. Its fields
// stay as they are.
func (m *members) release(ctx context.Context, live *unstructured.Unstructured) error {
	m.forget(live)
	fresh := live.DeepCopy()
	if err := m.direct.Get(ctx, client.ObjectKeyFromObject(live), fresh); err != nil {
		return client.IgnoreNotFound(err)
	}
	if fresh.GetUID() != live.GetUID() {
		return nil
	}
	before := fresh.DeepCopy()
	fresh.SetLabels(without(fresh.GetLabels(), fleetv1alpha1.SliceLabel))
	fresh.SetAnnotations(without(fresh.GetAnnotations(), fleetv1alpha1.SourceAnnotation, epochAnnotation))
	var rest []metav1.ManagedFieldsEntry
	for _, e := range fresh.GetManagedFields() {
		if !ourManager(e) {
			rest = append(rest, e)
		}
	}
	if len(rest) == 0 {
		rest = []metav1.ManagedFieldsEntry{{}} // an empty list would be ignored
	}
	fresh.SetManagedFields(rest)
	err := m.direct.Patch(ctx, fresh, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(agentOwner))
	return client.IgnoreNotFound(err)
}

// listOurs lists the objects of those kinds that carry a label of ours; slice narrows it to one slice.
// Kinds that are not served, or that we have no right to read any more, are left out: nothing of them is
// deleted then.
func (m *members) listOurs(ctx context.Context, kinds []schema.GroupVersionKind, slice string) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for _, kind := range kinds {
		if served, err := m.serves(kind); err != nil || !served {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := m.mayRead(ctx, kind); apierrors.IsForbidden(err) {
			log.FromContext(ctx).V(1).Info("left out", "error", err.Error())
			continue
		} else if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		var opts []client.ListOption
		if slice != "" {
			opts = append(opts, client.MatchingLabels{fleetv1alpha1.SliceLabel: slice})
		}
		if err := m.cached.List(ctx, list, opts...); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// forget drops what is known of an object; with a uid, of that very one.
func (m *members) forget(obj *unstructured.Unstructured) {
	m.applier.Forget(obj)
	m.mu.Lock()
	defer m.mu.Unlock()
	key := keyFor(obj)
	if last := m.recent[key]; last != nil && obj.GetUID() != "" && last.GetUID() != obj.GetUID() {
		return
	}
	delete(m.recent, key)
}

func keyFor(obj *unstructured.Unstructured) recentKey {
	return recentKey{obj.GroupVersionKind(), client.ObjectKeyFromObject(obj)}
}

// version reads a resourceVersion as a number; one that is none is the oldest.
func version(obj metav1.Object) uint64 {
	n, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return n
}

func ourManager(e metav1.ManagedFieldsEntry) bool {
	switch e.Manager {
	case fleetv1alpha1.TemplateFieldOwner, fleetv1alpha1.SplitFieldOwner, fleetv1alpha1.RolloutFieldOwner:
		return e.Operation == metav1.ManagedFieldsOperationApply
	default:
		return false
	}
}

func without(m map[string]string, keys ...string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	for _, key := range keys {
		delete(out, key)
	}
	return out
}
