// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Applier applies objects on behalf of field owners. Its methods may be called concurrently.
type Applier struct {
	client client.Client
	mu     sync.Mutex
	memo   map[key]record
}

type key struct{ gvk, namespace, name, owner string }

type record struct {
	desired    uint64
	uid        types.UID
	generation int64
	metadata   uint64
}

// New makes an Applier with an empty memory.
func New(c client.Client) *Applier { return &Applier{client: c, memo: map[key]record{}} }

// Apply makes the object have the desired fields, owned by owner; other owners' claims to those
// fields are overruled. live is the object as the cache has it, or nil when it has none. It returns
// the object as it is after the request, or nil when no request was needed.
func (a *Applier) Apply(ctx context.Context, desired *unstructured.Unstructured, live client.Object, owner string) (*unstructured.Unstructured, error) {
	hash, err := hashOf(desired.Object)
	if err != nil {
		return nil, fmt.Errorf("hashing %s %s: %w", desired.GetKind(), client.ObjectKeyFromObject(desired), err)
	}
	k := keyOf(desired, owner)
	if live != nil && a.holds(k, hash, live) {
		return nil, nil
	}
	result := desired.DeepCopy()
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return nil, err
	}
	a.remember(k, hash, result)
	return result, nil
}

// Forget drops what is remembered of an object, for all owners given.
func (a *Applier) Forget(obj client.Object, owners ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, owner := range owners {
		delete(a.memo, keyOf(obj, owner))
	}
}

func (a *Applier) holds(k key, desired uint64, live client.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.memo[k]
	if !ok || r.desired != desired || r.uid != live.GetUID() {
		return false
	}
	if live.GetGeneration() < r.generation {
		return true // the cache has yet to see our own write
	}
	return live.GetGeneration() == r.generation && metadataHash(live) == r.metadata
}

func (a *Applier) remember(k key, desired uint64, result client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memo[k] = record{desired: desired, uid: result.GetUID(), generation: result.GetGeneration(), metadata: metadataHash(result)}
}

func keyOf(obj client.Object, owner string) key {
	return key{obj.GetObjectKind().GroupVersionKind().String(), obj.GetNamespace(), obj.GetName(), owner}
}

func metadataHash(obj client.Object) uint64 {
	h, _ := hashOf([]any{orEmpty(obj.GetLabels()), orEmpty(obj.GetAnnotations())}) // maps of strings always marshal
	return h
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func hashOf(v any) (uint64, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // a hash never fails to write
	return h.Sum64(), nil
}
