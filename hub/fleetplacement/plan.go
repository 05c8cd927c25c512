// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/references"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// decision is what one pass will do, and why.
type decision struct {
	// divider of the target's kind, and its name; nil when there is none.
	divider     Divider
	dividerName string
	// resolved is nil when target and clusters are known; else the reason and what to mend.
	resolved *share.Problem
	// placed is nil when a plan was made; else the reason why there is none.
	placed *share.Problem
	// chosen are the clusters the placement selects.
	chosen []placement.Selected
	plan   *share.Plan
	// desired are the slices to write, remove those to delete.
	desired []slice.Desired
	remove  []*fleetv1alpha1.FleetSlice
	// release tells that the target goes, and lets go of it once the slices have gone.
	release bool
	// again is after how long to decide again; 0 when nothing is waited for.
	again time.Duration
}

// decide is pure, apart from what the renderer remembers.
func (r *Reconciler) decide(s *snapshot) decision {
	var d decision
	r.plan(s, &d)
	d.leaving(s)
	return d
}

// plan resolves target and clusters and divides; it stops where something stands in the way.
func (r *Reconciler) plan(s *snapshot, d *decision) {
	if stop := d.targetOf(s, r); stop {
		return
	}
	choice, err := placement.Choose(s.choosing(r.DropGrace))
	if err != nil {
		d.cannot(fleetv1alpha1.ReasonNoClusters, err.Error())
		return
	}
	d.chosen, d.again = choice.Clusters, steps.Sooner(choice.Again, s.mostAgain)
	if choice.Unresolved != "" {
		d.cannot(fleetv1alpha1.ReasonNoClusters, choice.Unresolved)
		return
	}
	if d.nothingChosen(s, choice) {
		return
	}
	d.clustersOf(choice)
	plan, err := r.divide(s, d, choice)
	if err != nil {
		d.placed = problemOf(err)
		return
	}
	if d.nothingPlanned(s, plan) {
		return
	}
	if len(choice.Refused) > 0 {
		plan.Notes = append(plan.Notes, "not served: "+some(because(choice.Left, choice.Refused)))
	}
	d.plan = &plan
	if err := d.slicesOf(s); err != nil {
		d.plan, d.placed = nil, problemOf(err)
	}
}

// cannot says that target or clusters are not known: members keep what they have.
func (d *decision) cannot(reason, message string) {
	d.resolved = &share.Problem{Reason: reason, Message: message}
	d.placed = d.resolved
}

// targetOf deals with a target that is not to be divided, and tells whether it is so.
func (d *decision) targetOf(s *snapshot, r *Reconciler) bool {
	ref := s.placement.Spec.TargetRef
	var whyNot string
	d.divider, d.dividerName, whyNot = r.dividerOf(s)
	switch {
	case s.holder != "":
		d.cannot(fleetv1alpha1.ReasonTargetTaken, fmt.Sprintf("FleetPlacement %q is older and places %s %q", s.holder, ref.Kind, ref.Name))
	case s.unreadable != "":
		d.cannot(fleetv1alpha1.ReasonTargetNotSupported, s.unreadable)
	case s.target == nil:
		d.cannot(fleetv1alpha1.ReasonTargetNotFound, fmt.Sprintf("there is no %s %q in this namespace", ref.Kind, ref.Name))
		d.remove = all(s)
	case s.target.GetDeletionTimestamp() != nil:
		d.cannot(fleetv1alpha1.ReasonDeleting, fmt.Sprintf("%s %q is being deleted", ref.Kind, ref.Name))
		d.remove, d.release = all(s), true
	case d.divider == nil:
		d.cannot(fleetv1alpha1.ReasonTargetNotSupported, whyNot)
	default:
		return false
	}
	return true
}

func all(s *snapshot) []*fleetv1alpha1.FleetSlice {
	out := slices.Clone(s.strays)
	for _, cluster := range slices.Sorted(maps.Keys(s.slices)) {
		out = append(out, s.slices[cluster])
	}
	return out
}

// clustersOf says what is wrong with the choice; the rest of it is served all the same.
func (d *decision) clustersOf(choice placement.Choice) {
	switch {
	case len(choice.Unknown) > 0:
		d.resolved = &share.Problem{Reason: fleetv1alpha1.ReasonUnknownClusters, Message: "spec.clusterNames: no such ManagedCluster: " + some(choice.Unknown)}
	case len(choice.Clusters) == 0:
		message := "no cluster is selected"
		if len(choice.Left) > 0 {
			message += ": " + reasons(choice.Left)
		}
		d.resolved = &share.Problem{Reason: fleetv1alpha1.ReasonNoClusters, Message: message}
	}
}

// divide renders the object for every cluster and asks the divider.
func (r *Reconciler) divide(s *snapshot, d *decision, choice placement.Choice) (share.Plan, error) {
	spec := s.placement.Spec
	overrides, err := render.Compile(spec.Overrides)
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonRenderFailed, Message: err.Error()}
	}
	weigh, err := weights(spec.Division.Weights)
	if err != nil {
		return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
	}
	req := share.Request{Target: s.target, Mode: orDefault(spec.Division.Mode, fleetv1alpha1.DivisionDivided), Left: choice.Left, Held: share.Holdings{}, Given: map[string]share.Terms{}, Most: s.most}
	for cluster, one := range s.slices {
		if one.DeletionTimestamp.IsZero() {
			req.Held[cluster], req.Given[cluster] = slice.Held(one), slice.Terms(one)
		}
	}
	base := render.Base(s.target)
	for _, c := range choice.Clusters {
		if one := s.slices[c.Name]; one != nil && !one.DeletionTimestamp.IsZero() {
			c.Frozen = slice.ErrDeleting.Error() // what it holds is on its way out, and no other is written before
		}
		object, err := r.Renderer.Render(base, overrides.Matching(c.Labels))
		if err != nil {
			return share.Plan{}, share.Problem{Reason: fleetv1alpha1.ReasonRenderFailed, Message: fmt.Sprintf("for cluster %s: %v", c.Name, err)}
		}
		req.Clusters = append(req.Clusters, share.Cluster{Selected: c, Weight: weigh(c.Labels), Object: object})
	}
	return d.divider.Divide(req)
}

// weights returns the weight of a cluster by its labels: that of the first selector that matches, else 1.
func weights(list []fleetv1alpha1.ClusterWeight) (func(map[string]string) int32, error) {
	selectors := make([]labels.Selector, len(list))
	for i := range list {
		selector, err := metav1.LabelSelectorAsSelector(&list[i].ClusterSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.division.weights[%d].clusterSelector: %w", i, err)
		}
		selectors[i] = selector
	}
	return func(cluster map[string]string) int32 {
		for i, selector := range selectors {
			if selector.Matches(labels.Set(cluster)) {
				return list[i].Weight
			}
		}
		return 1
	}, nil
}

// body is an object as a slice carries it, and what its pods need.
type body struct {
	raw   []byte
	needs []string
}

// bodies of objects: several slices share one.
type bodies map[*unstructured.Unstructured]body

// of returns the bodies of a slice's objects, and what all of them need.
func (b bodies) of(one share.Slice) (objects []runtime.RawExtension, needs []string, err error) {
	for _, object := range append([]*unstructured.Unstructured{one.Object}, one.Others...) {
		known, ok := b[object]
		if !ok {
			if known.raw, err = json.Marshal(object.Object); err != nil {
				return nil, nil, share.Problem{Reason: fleetv1alpha1.ReasonRenderFailed, Message: fmt.Sprintf("for cluster %s: %v", one.Cluster, err)}
			}
			known.needs = references.Of(object)
			b[object] = known
		}
		objects, needs = append(objects, runtime.RawExtension{Raw: known.raw}), append(needs, known.needs...)
	}
	slices.Sort(needs)
	return objects, slices.Compact(needs), nil
}

// slicesOf turns the plan into slices to write and slices to delete.
func (d *decision) slicesOf(s *snapshot) error {
	spec := s.placement.Spec
	source := fleetv1alpha1.SliceSource{
		APIVersion: s.target.GetAPIVersion(), Kind: s.target.GetKind(), Namespace: s.target.GetNamespace(), Name: s.target.GetName(),
		UID: s.target.GetUID(), Generation: s.target.GetGeneration(), Revision: d.plan.Revision,
	}
	planned := make(map[string]bool, len(d.plan.Slices))
	bodies := bodies{}
	for _, one := range d.plan.Slices {
		planned[one.Cluster] = true
		objects, needs, err := bodies.of(one)
		if err != nil {
			return err
		}
		d.desired = append(d.desired, slice.Desired{
			Cluster: one.Cluster, Name: s.sliceName(), Placement: s.placement.UID, Held: one.Held, Terms: one.Terms, Needs: needs,
			Spec: fleetv1alpha1.FleetSliceSpec{
				Epoch: s.epoch, Source: source, Objects: objects,
				Split: one.Split, Partitions: one.Partitions,
				Adoption: orDefault(spec.Adoption, fleetv1alpha1.AdoptionIfEqual), DeletionPolicy: policyOf(s.placement),
			},
		})
	}
	d.remove = slices.Clone(s.strays)
	for _, cluster := range slices.Sorted(maps.Keys(s.slices)) {
		if !planned[cluster] {
			d.remove = append(d.remove, s.slices[cluster])
		}
	}
	return nil
}

func policyOf(p *fleetv1alpha1.FleetPlacement) fleetv1alpha1.DeletionPolicy {
	return orDefault(p.Spec.DeletionPolicy, fleetv1alpha1.DeletionCascade)
}

func orDefault[T ~string](value, fallback T) T {
	if value == "" {
		return fallback
	}
	return value
}

func problemOf(err error) *share.Problem {
	var problem share.Problem
	if errors.As(err, &problem) {
		return &problem
	}
	return &share.Problem{Reason: fleetv1alpha1.ReasonInvalidTarget, Message: err.Error()}
}

// maxNamed bounds how many clusters a message names.
const maxNamed = 10

// some joins at most maxNamed names.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// reasons joins "cluster (why)" of at most maxNamed clusters.
func reasons(why map[string]string) string {
	return some(because(why, slices.Sorted(maps.Keys(why))))
}

// because gives every cluster its reason.
func because(why map[string]string, clusters []string) []string {
	out := make([]string, 0, len(clusters))
	for _, cluster := range clusters {
		out = append(out, fmt.Sprintf("%s (%s)", cluster, why[cluster]))
	}
	return out
}
