// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// FieldOwner owns the spec of slices.
const FieldOwner = "hub-slice"

// Cache indexes of FleetSlices by the uids in their labels.
const (
	placementIndex = "fleet.placementUID"
	sourceIndex    = "fleet.sourceUID"
	// by name, and by what their pods need.
	nameIndex  = "fleet.sliceName"
	needsIndex = "fleet.needs"
)

// parallel bounds the requests of one call.
const parallel = 16

// unseen keeps reads from waiting for a write to show in the cache. A slice that goes may never show there
// again, when its end falls into a gap of the watch; and whatever removes a slice may be done twice, since
// it names its uid.
const unseen = client.DisableReadYourWritesConsistency

// Store reads and writes slices. Its client reads from a cache with the indexes of AddIndexes, and its
// reads see its own writes, but not always what it removed. Its methods may be called concurrently, for different objects.
type Store struct {
	client client.Client
}

// New makes a Store.
func New(c client.Client) *Store { return &Store{client: c} }

// AddIndexes registers the indexes a Store lists by.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	byLabel := func(label string) client.IndexerFunc {
		return func(o client.Object) []string { return []string{o.GetLabels()[label]} }
	}
	return errors.Join(
		indexer.IndexField(ctx, &fleetv1alpha1.FleetSlice{}, placementIndex, byLabel(fleetv1alpha1.PlacementUIDLabel)),
		indexer.IndexField(ctx, &fleetv1alpha1.FleetSlice{}, sourceIndex, byLabel(fleetv1alpha1.SourceUIDLabel)),
		indexer.IndexField(ctx, &fleetv1alpha1.FleetSlice{}, nameIndex, func(o client.Object) []string { return []string{o.GetName()} }),
		indexer.IndexField(ctx, &fleetv1alpha1.FleetSlice{}, needsIndex, needsOf),
	)
}

// OfPlacement lists the slices that a FleetPlacement made. They are the cache's own: read only.
func (s *Store) OfPlacement(ctx context.Context, placement types.UID) ([]*fleetv1alpha1.FleetSlice, error) {
	return s.list(ctx, client.MatchingFields{placementIndex: string(placement)})
}

// OfSource lists the slices of a hub object. They are the cache's own: read only.
func (s *Store) OfSource(ctx context.Context, source types.UID) ([]*fleetv1alpha1.FleetSlice, error) {
	return s.list(ctx, client.MatchingFields{sourceIndex: string(source)})
}

// Named lists the slices of a name, in all clusters. They are the cache's own: read only.
func (s *Store) Named(ctx context.Context, name string) ([]*fleetv1alpha1.FleetSlice, error) {
	return s.list(ctx, client.MatchingFields{nameIndex: name})
}

// Needing lists the slices whose pods need an object, Kind/name, of a namespace. They are the cache's
// own: read only.
func (s *Store) Needing(ctx context.Context, namespace, need string) ([]*fleetv1alpha1.FleetSlice, error) {
	return s.list(ctx, client.MatchingFields{needsIndex: namespace + "/" + need})
}

func needsOf(o client.Object) []string {
	one, ok := o.(*fleetv1alpha1.FleetSlice)
	if !ok {
		return nil
	}
	needs := Needs(one)
	for i := range needs {
		needs[i] = one.Spec.Source.Namespace + "/" + needs[i]
	}
	return needs
}

// OfCluster lists the slices of a cluster. They are the cache's own: read only.
func (s *Store) OfCluster(ctx context.Context, cluster string) ([]*fleetv1alpha1.FleetSlice, error) {
	return s.list(ctx, client.InNamespace(cluster))
}

func (s *Store) list(ctx context.Context, opts ...client.ListOption) ([]*fleetv1alpha1.FleetSlice, error) {
	var list fleetv1alpha1.FleetSliceList
	if err := s.client.List(ctx, &list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing FleetSlices: %w", err)
	}
	out := make([]*fleetv1alpha1.FleetSlice, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Outcome is what came of a Write.
type Outcome struct {
	// Written are the slices as they are after this call, by cluster, of those that were written.
	Written map[string]*fleetv1alpha1.FleetSlice
	// Failed says for each cluster why its slice was not written.
	Failed map[string]error
}

// Write makes slices as desired. live has the cached slices by cluster. What is equal is not sent; a
// slice that is being deleted only gets the deletion policy and a higher epoch, and its cluster fails with
// ErrDeleting. One cluster's failure does not keep the others from being written.
func (s *Store) Write(ctx context.Context, desired []Desired, live map[string]*fleetv1alpha1.FleetSlice) Outcome {
	out := Outcome{Written: map[string]*fleetv1alpha1.FleetSlice{}, Failed: map[string]error{}}
	var mu sync.Mutex
	each(desired, func(d Desired) {
		written, err := s.write(ctx, d, live[d.Cluster])
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			out.Failed[d.Cluster] = err
		}
		if written != nil {
			out.Written[d.Cluster] = written
		}
	})
	return out
}

// ErrDeleting is the failure of a cluster whose earlier slice is still being taken back.
var ErrDeleting = errors.New("an earlier share is still being taken back")

func (s *Store) write(ctx context.Context, d Desired, live *fleetv1alpha1.FleetSlice) (*fleetv1alpha1.FleetSlice, error) {
	if live != nil && !live.DeletionTimestamp.IsZero() {
		return nil, cmp.Or(s.amend(ctx, live, d.Spec.DeletionPolicy, d.Spec.Epoch), ErrDeleting)
	}
	if live != nil && same(live, d) {
		return nil, nil
	}
	if size := sizeOf(d); size > MaxBytes {
		return nil, TooLargeError{Bytes: size}
	}
	body, err := bodyOf(d, live)
	if err != nil {
		return nil, err
	}
	written := &fleetv1alpha1.FleetSlice{}
	written.Namespace, written.Name = d.Cluster, d.Name
	err = s.client.Patch(ctx, written, client.RawPatch(types.ApplyPatchType, body), client.FieldOwner(FieldOwner), client.ForceOwnership)
	count("apply", err)
	if err != nil {
		return nil, fmt.Errorf("writing FleetSlice %s/%s: %w", d.Cluster, d.Name, err)
	}
	return written, nil
}

func sizeOf(d Desired) (size int) {
	for _, o := range d.Spec.Objects {
		size += len(o.Raw)
	}
	return size
}

// bodyOf is the apply request. With the live slice's uid in it, the API server refuses to make a slice
// anew that has gone meanwhile.
func bodyOf(d Desired, live *fleetv1alpha1.FleetSlice) ([]byte, error) {
	metadata := map[string]any{
		"name": d.Name, "namespace": d.Cluster,
		"labels":      map[string]string{fleetv1alpha1.SourceUIDLabel: string(d.Spec.Source.UID), fleetv1alpha1.PlacementUIDLabel: string(d.Placement)},
		"finalizers":  []string{fleetv1alpha1.SliceFinalizer},
		"annotations": annotationsOf(d, live),
	}
	if live != nil {
		metadata["uid"] = live.UID
	}
	return json.Marshal(map[string]any{
		"apiVersion": fleetv1alpha1.SchemeGroupVersion.String(), "kind": "FleetSlice", "metadata": metadata, "spec": d.Spec,
	})
}

func annotationsOf(d Desired, live *fleetv1alpha1.FleetSlice) map[string]string {
	out := map[string]string{RevisionSinceAnnotation: revisionSince(live, d.Spec.Source.Revision)}
	for name, value := range map[string]string{HeldAnnotation: text(d.Held), TermsAnnotation: text(d.Terms), NeedsAnnotation: listed(d.Needs)} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// Remove deletes slices, so that the members take their objects back (Cascade) or let go of them
// (Orphan). They get the policy, unless it is "", and the epoch where it is higher than theirs: members
// delete nothing on the word of a lower one than they have seen. Slices that are being deleted already
// only get these. Errors join.
func (s *Store) Remove(ctx context.Context, list []*fleetv1alpha1.FleetSlice, policy fleetv1alpha1.DeletionPolicy, epoch int64) error {
	var mu sync.Mutex
	var errs []error
	each(list, func(one *fleetv1alpha1.FleetSlice) {
		if err := s.remove(ctx, one, policy, epoch); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

func (s *Store) remove(ctx context.Context, one *fleetv1alpha1.FleetSlice, policy fleetv1alpha1.DeletionPolicy, epoch int64) error {
	if err := s.amend(ctx, one, policy, epoch); err != nil {
		return err
	}
	if !one.DeletionTimestamp.IsZero() {
		return nil
	}
	uid := one.UID
	err := s.client.Delete(ctx, keyOnly(one), client.Preconditions{UID: &uid}, unseen)
	count("delete", err)
	return ignoreGone(err)
}

// amend gives a slice that goes the policy and the epoch to go by, where it has others.
func (s *Store) amend(ctx context.Context, one *fleetv1alpha1.FleetSlice, policy fleetv1alpha1.DeletionPolicy, epoch int64) error {
	spec := map[string]any{}
	if policy != "" && one.Spec.DeletionPolicy != policy {
		spec["deletionPolicy"] = policy
	}
	if epoch > one.Spec.Epoch {
		spec["epoch"] = epoch
	}
	if len(spec) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": one.UID}, "spec": spec})
	if err != nil {
		return err
	}
	err = s.client.Patch(ctx, keyOnly(one), client.RawPatch(types.MergePatchType, body), client.FieldOwner(FieldOwner), unseen)
	count("patch", err)
	return ignoreGone(err)
}

func keyOnly(one *fleetv1alpha1.FleetSlice) *fleetv1alpha1.FleetSlice {
	return &fleetv1alpha1.FleetSlice{ObjectMeta: metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}}
}

// Release takes our finalizer off slices whose cluster is gone for ever, and deletes those that are not
// being deleted yet. Errors join.
func (s *Store) Release(ctx context.Context, list []*fleetv1alpha1.FleetSlice) error {
	var errs []error
	for _, one := range list {
		errs = append(errs, s.remove(ctx, one, "", 0), s.release(ctx, one))
	}
	return errors.Join(errs...)
}

func (s *Store) release(ctx context.Context, one *fleetv1alpha1.FleetSlice) error {
	rest := slices.DeleteFunc(slices.Clone(one.Finalizers), func(f string) bool { return f == fleetv1alpha1.SliceFinalizer })
	if len(rest) == len(one.Finalizers) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": one.UID, "finalizers": rest}})
	if err != nil {
		return err
	}
	err = s.client.Patch(ctx, keyOnly(one), client.RawPatch(types.MergePatchType, body), client.FieldOwner(FieldOwner), unseen)
	count("release", err)
	return ignoreGone(err)
}

// ignoreGone drops the error of a slice that has gone, or has been made anew, meanwhile.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// each calls do for every element, a bounded number at a time, and waits for all.
func each[T any](list []T, do func(T)) {
	tokens := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, item := range list {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			do(item)
		})
	}
	wg.Wait()
}
