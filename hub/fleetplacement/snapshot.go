// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
)

// snapshot is all that one pass reads.
type snapshot struct {
	placement *fleetv1alpha1.FleetPlacement
	// holder is the name of an older placement for the same target; "" when there is none.
	holder string
	// target as it is; nil when there is none. unreadable says why its kind cannot be read.
	target     *unstructured.Unstructured
	unreadable string
	// spread is the WorkloadSpread that names the target; nil when there is none.
	spread    *unstructured.Unstructured
	clusters  map[string]placement.Cluster
	ocm       *clusterv1beta1.Placement
	decisions []clusterv1beta1.PlacementDecision
	// slices by cluster: those of this target, and those this placement made.
	slices map[string]*fleetv1alpha1.FleetSlice
	// strays are slices this placement made under another name.
	strays []*fleetv1alpha1.FleetSlice
	// renewed is when each cluster's agent last renewed its lease.
	renewed map[string]time.Time
	// settling are the clusters whose agents came back so lately that their counters may be old.
	settling map[string]bool
	epoch    int64
	now      time.Time
	// dropped is since when OCM's decisions have been missing clusters that are well.
	dropped map[string]time.Time
	// most are the replicas that subsets of the WorkloadSpread may have where some found no node of late, by
	// cluster and subset; mostAgain is after how long the next of them counts no more.
	most      share.Holdings
	mostAgain time.Duration
}

func (r *Reconciler) gather(ctx context.Context, p *fleetv1alpha1.FleetPlacement) (*snapshot, error) {
	s := &snapshot{placement: p, now: r.Clock.Now()}
	for _, read := range []func(context.Context, *snapshot) error{
		r.readHolder, r.readTarget, r.readSpread, r.readClusters, r.readDecisions, r.readSlices, r.readLeases, r.readEpoch,
	} {
		if err := read(ctx, s); err != nil {
			return nil, err
		}
	}
	r.noteDropped(s)
	r.noteStuck(s)
	return s, nil
}

// noteDropped remembers which clusters OCM's decisions are missing.
func (r *Reconciler) noteDropped(s *snapshot) {
	s.dropped = r.dropped.note(s.placement.UID, placement.Dropped(s.choosing(r.DropGrace)), s.now)
}

// choosing is what the choice of clusters is made from. A slice that is being deleted is no share.
func (s *snapshot) choosing(grace time.Duration) placement.Input {
	in := placement.Input{
		Spec: &s.placement.Spec, Clusters: s.clusters, Placement: s.ocm, Decisions: s.decisions,
		Dropped: s.dropped, Grace: grace, Now: s.now,
	}
	for cluster, one := range s.slices {
		if one.DeletionTimestamp.IsZero() {
			in.Holding = append(in.Holding, cluster)
		}
	}
	return in
}

// readHolder finds the oldest placement for the target: by creation, then by name.
func (r *Reconciler) readHolder(ctx context.Context, s *snapshot) error {
	others, err := r.sameTarget(ctx, s.placement)
	if err != nil {
		return err
	}
	oldest := s.placement
	for i := range others {
		if older(&others[i], oldest) {
			oldest = &others[i]
		}
	}
	if oldest.UID != s.placement.UID {
		s.holder = oldest.Name
	}
	return nil
}

func (r *Reconciler) sameTarget(ctx context.Context, p *fleetv1alpha1.FleetPlacement) ([]fleetv1alpha1.FleetPlacement, error) {
	var list fleetv1alpha1.FleetPlacementList
	key := TargetKey(TargetGVK(p).GroupKind(), p.Spec.TargetRef.Name)
	if err := r.List(ctx, &list, client.InNamespace(p.Namespace), client.MatchingFields{TargetIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing placements of the target: %w", err)
	}
	return list.Items, nil
}

func older(a, b *fleetv1alpha1.FleetPlacement) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

func (r *Reconciler) readTarget(ctx context.Context, s *snapshot) error {
	gvk := StoredKind(r.Scheme(), TargetGVK(s.placement))
	whyNot, err := r.kinds.watch(ctx, gvk)
	if err != nil {
		return err
	}
	if whyNot != "" {
		s.unreadable = whyNot
		return nil
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(gvk)
	key := client.ObjectKey{Namespace: s.placement.Namespace, Name: s.placement.Spec.TargetRef.Name}
	var reader client.Reader = r
	if unheld[gvk.GroupKind()] {
		reader = r.Live
	}
	err = reader.Get(ctx, key, target)
	switch {
	case apierrors.IsNotFound(err):
		return r.confirmGone(ctx, key, target)
	case meta.IsNoMatchError(err):
		s.unreadable = fmt.Sprintf("kind %s of %s does not exist on the hub", gvk.Kind, gvk.GroupVersion())
		return nil
	case err != nil:
		return fmt.Errorf("reading the target: %w", err)
	}
	s.target = target
	return nil
}

// confirmGone asks the API server itself before members lose their shares.
func (r *Reconciler) confirmGone(ctx context.Context, key client.ObjectKey, target *unstructured.Unstructured) error {
	err := r.Live.Get(ctx, key, target)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the target: %w", err)
	}
	return fmt.Errorf("the cache has yet to see %s %s", target.GetKind(), key)
}

func (r *Reconciler) readClusters(ctx context.Context, s *snapshot) error {
	var list clusterv1.ManagedClusterList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ManagedClusters: %w", err)
	}
	s.clusters = make(map[string]placement.Cluster, len(list.Items))
	for i := range list.Items {
		s.clusters[list.Items[i].Name] = placement.FromManagedCluster(&list.Items[i])
	}
	return nil
}

func (r *Reconciler) readDecisions(ctx context.Context, s *snapshot) error {
	ref := s.placement.Spec.PlacementRef
	if ref == nil {
		return nil
	}
	ocm := &clusterv1beta1.Placement{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.placement.Namespace, Name: ref.Name}, ocm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Placement %s: %w", ref.Name, err)
	}
	s.ocm = ocm
	var list clusterv1beta1.PlacementDecisionList
	if err := r.List(ctx, &list, client.InNamespace(s.placement.Namespace), client.MatchingLabels{clusterv1beta1.PlacementLabel: ref.Name}); err != nil {
		return fmt.Errorf("listing PlacementDecisions: %w", err)
	}
	s.decisions = list.Items
	return nil
}

func (r *Reconciler) readSlices(ctx context.Context, s *snapshot) error {
	ours, err := r.Slices.OfPlacement(ctx, s.placement.UID)
	if err != nil {
		return err
	}
	if s.target != nil && s.holder == "" {
		ofTarget, err := r.Slices.OfSource(ctx, s.target.GetUID())
		if err != nil {
			return err
		}
		ours = append(ours, ofTarget...)
	}
	name := s.sliceName()
	s.slices = make(map[string]*fleetv1alpha1.FleetSlice, len(ours))
	for _, one := range ours {
		if one.Name == name {
			s.slices[one.Namespace] = one
		} else if !slices.Contains(s.strays, one) {
			s.strays = append(s.strays, one)
		}
	}
	return nil
}

// sliceName is the name of all slices of the target.
func (s *snapshot) sliceName() string {
	p := s.placement
	return slice.Name(TargetGVK(p).GroupKind(), p.Namespace, p.Spec.TargetRef.Name)
}

func (r *Reconciler) readLeases(ctx context.Context, s *snapshot) error {
	var list coordinationv1.LeaseList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing leases: %w", err)
	}
	s.renewed, s.settling = make(map[string]time.Time, len(list.Items)), map[string]bool{}
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Name == fleetv1alpha1.AddOnName && lease.Spec.RenewTime != nil {
			s.renewed[lease.Namespace], s.settling[lease.Namespace] = lease.Spec.RenewTime.Time, settling(lease)
		}
	}
	return nil
}

func (r *Reconciler) readEpoch(ctx context.Context, s *snapshot) (err error) {
	s.epoch, err = r.Epoch.Current(ctx)
	return err
}
