// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Applier applies objects on behalf of field owners. Its methods may be called concurrently, but not
// for one object at a time.
type Applier struct {
	client client.Client
	mu     sync.Mutex
	memo   map[key]*record
}

type key struct{ gvk, namespace, name string }

// record is what one object was after our last request, and what each owner wanted of it.
type record struct {
	uid        types.UID
	generation int64
	version    string // resourceVersion
	metadata   uint64
	desired    map[string]uint64
}

// New makes an Applier with an empty memory.
func New(c client.Client) *Applier { return &Applier{client: c, memo: map[key]*record{}} }

// Apply makes the object have the desired fields, owned by owner; other owners' claims to those
// fields are overruled. live is the object as the cache has it, or nil when it has none. It returns
// the object as it is after the request, or nil when no request was needed. The client's later
// reads do not wait for the cache to see it.
func (a *Applier) Apply(ctx context.Context, desired *unstructured.Unstructured, live client.Object, owner string) (*unstructured.Unstructured, error) {
	hash, err := hashOf(desired.Object)
	if err != nil {
		return nil, fmt.Errorf("hashing %s %s: %w", desired.GetKind(), client.ObjectKeyFromObject(desired), err)
	}
	k := keyOf(desired)
	if a.holds(k, owner, hash, live) {
		return nil, nil
	}
	result := desired.DeepCopy()
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), client.FieldOwner(owner), client.ForceOwnership, client.DisableReadYourWritesConsistency); err != nil {
		return nil, err
	}
	a.remember(k, owner, hash, live, result)
	return result, nil
}

// Holds tells whether Apply would make no request.
func (a *Applier) Holds(desired *unstructured.Unstructured, live client.Object, owner string) bool {
	hash, err := hashOf(desired.Object)
	return err == nil && a.holds(keyOf(desired), owner, hash, live)
}

// Forget drops what is remembered of an object. With a uid, only that of the very object: one that was
// made under its name since is still known. Whoever sees that an object is gone must call it, or the
// memory grows.
func (a *Applier) Forget(obj client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := keyOf(obj)
	if r := a.memo[k]; r != nil && obj.GetUID() != "" && r.uid != obj.GetUID() {
		return
	}
	delete(a.memo, k)
}

func (a *Applier) holds(k key, owner string, desired uint64, live client.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.memo[k]
	if !ok || !r.matches(live) {
		return false
	}
	last, ok := r.desired[owner]
	return ok && last == desired
}

// matches tells whether the object is as we left it, or the cache has yet to see our own write.
// Kinds without a generation, such as ConfigMap, change their resourceVersion with their content.
func (r *record) matches(live client.Object) bool {
	switch {
	case live == nil || r.uid != live.GetUID():
		return false
	case r.generation == 0:
		return !newer(live.GetResourceVersion(), r.version)
	case live.GetGeneration() != r.generation:
		return live.GetGeneration() < r.generation
	default:
		return live.GetResourceVersion() == r.version || metadataHash(live) == r.metadata
	}
}

// newer tells whether resourceVersion a is later than b; versions that are no numbers are later
// unless equal.
func newer(a, b string) bool {
	x, errA := strconv.ParseUint(a, 10, 64)
	y, errB := strconv.ParseUint(b, 10, 64)
	if errA != nil || errB != nil {
		return a != b
	}
	return x > y
}

// remember notes the result of a request. What other owners wanted stays noted as long as nobody
// but us has changed the object since.
func (a *Applier) remember(k key, owner string, desired uint64, live client.Object, result client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.memo[k]
	if !ok || !r.matches(live) || r.uid != result.GetUID() || result.GetGeneration() > r.generation+1 {
		r = &record{uid: result.GetUID(), desired: map[string]uint64{}}
		a.memo[k] = r
	}
	r.generation, r.version, r.metadata = result.GetGeneration(), result.GetResourceVersion(), metadataHash(result)
	r.desired[owner] = desired
}

func keyOf(obj client.Object) key {
	return key{obj.GetObjectKind().GroupVersionKind().String(), obj.GetNamespace(), obj.GetName()}
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
