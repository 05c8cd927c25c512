// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/allocate"
	"github.com/flotilla-sh/flotilla/internal/steps"
)

// plan is what one pass will do. Every move carries its reason.
type plan struct {
	// sizes is what each subset of the spec should ask for; nil when the allocation failed.
	sizes   map[string]sizing
	creates []move
	updates []move
	deletes []move
	// stuck are pods to delete, which their workload waits for in vain.
	stuck []*corev1.Pod
	// trouble is why parts of the plan are missing; nil when nothing is.
	trouble error
	// allocation is why there are no sizes; part of trouble.
	allocation error
	// verdicts are whether subsets that exist take pods, with the Adaptive schedule.
	verdicts map[string]verdict
	// labels are those of pods to change before anything else.
	labels []labelling
	// recheck is when to look again though nothing happens; 0: not.
	recheck time.Duration
	// notes tell of numbers in the spec that were not followed to the letter.
	notes []string
}

// move is one write.
type move struct {
	subset string
	// live is the workload to update or delete, as it is.
	live client.Object
	// want is the workload to create or update to; without a name when it is to be created.
	want   client.Object
	reason string
}

// makePlan decides what to do. The template's kind is served: s.adapter is set.
func makePlan(s *snapshot) *plan {
	p := &plan{}
	kept := p.dropDuplicates(s.live)
	for i := range s.others {
		other := &s.others[i]
		p.delete(other.Labels[appsv1beta1.SubsetNameLabel], other, "the template is no longer of kind "+other.Kind)
	}
	p.verdicts = judgeAll(s, kept)
	for _, v := range p.verdicts {
		p.recheck = steps.Sooner(p.recheck, v.recheck)
		p.labels = append(p.labels, v.labels...)
	}
	p.allocate(s.ud, kept)
	if p.sizes == nil {
		p.trouble = p.allocation
		return p
	}
	p.bringTo(s, kept)
	return p
}

// delete plans a deletion unless it is under way.
func (p *plan) delete(subset string, obj client.Object, reason string) {
	if obj.GetDeletionTimestamp() == nil {
		p.deletes = append(p.deletes, move{subset: subset, live: obj, reason: reason})
	}
}

// dropDuplicates keeps the best workload of each subset and plans to delete the others.
func (p *plan) dropDuplicates(live []liveSubset) map[string]liveSubset {
	kept := map[string]liveSubset{}
	for _, l := range slices.SortedFunc(slices.Values(live), betterFirst) {
		best, taken := kept[l.subset]
		if !taken {
			kept[l.subset] = l
			continue
		}
		p.delete(l.subset, l.object, "the subset also has "+best.object.GetName())
	}
	return kept
}

// betterFirst orders workloads of a subset: not being deleted, more ready pods, older, name.
func betterFirst(a, b liveSubset) int {
	goingA, goingB := a.object.GetDeletionTimestamp() != nil, b.object.GetDeletionTimestamp() != nil
	if goingA != goingB {
		if goingA {
			return 1
		}
		return -1
	}
	bornA, bornB := a.object.GetCreationTimestamp(), b.object.GetCreationTimestamp()
	return cmp.Or(
		cmp.Compare(b.readyReplicas, a.readyReplicas),
		bornA.Compare(bornB.Time),
		strings.Compare(a.object.GetName(), b.object.GetName()),
	)
}

// allocate fills in the sizes, or the reason why there are none.
func (p *plan) allocate(ud *appsv1beta1.UnitedDeployment, kept map[string]liveSubset) {
	subsets := ud.Spec.Topology.Subsets
	asked := make([]allocate.Subset, len(subsets))
	for i := range subsets {
		asked[i] = allocate.Subset{
			Name: subsets[i].Name, Current: kept[subsets[i].Name].replicas,
			Replicas: subsets[i].Replicas, Min: subsets[i].MinReplicas, Max: subsets[i].MaxReplicas,
		}
		if v, exists := p.verdicts[subsets[i].Name]; exists {
			asked[i].State = allocate.State{
				Exists: true, Unschedulable: v.unschedulable, Marked: v.marked,
				Ready: kept[subsets[i].Name].readyReplicas, Reserved: v.reserved + v.missing,
			}
		}
	}
	rule := allocate.Fixed
	switch {
	case isReserving(ud):
		rule = allocate.Reserve
	case p.verdicts != nil:
		rule = allocate.Adaptive
	}
	result, err := rule(ud.Spec.Replicas, asked)
	if err != nil {
		p.allocation = fmt.Errorf("sharing out replicas: %w", err)
		return
	}
	p.notes = result.Notes
	if result.Reduced != "" {
		p.notes = append(p.notes, result.Reduced)
	}
	if result.Unplaced > 0 && len(subsets) > 0 {
		p.notes = append(p.notes, unplaced(result.Unplaced, p.verdicts))
	}
	p.sizes = map[string]sizing{}
	for name, replicas := range result.Replicas {
		p.sizes[name] = sizing{replicas: replicas, partition: min(partitionOf(ud, name), replicas)}
	}
	p.holdBack(kept)
}

// unplaced says why replicas find no place.
func unplaced(replicas int32, verdicts map[string]verdict) string {
	var cannot []string
	for name, v := range verdicts {
		if v.unschedulable {
			cannot = append(cannot, name)
		}
	}
	text := fmt.Sprintf("%d replicas find no place: maxReplicas add up to less than spec.replicas", replicas)
	if len(cannot) == 0 {
		return text
	}
	slices.Sort(cannot)
	return text + " without what cannot be scheduled in " + strings.Join(cannot, ", ")
}

func partitionOf(ud *appsv1beta1.UnitedDeployment, subset string) int32 {
	if manual := ud.Spec.UpdateStrategy.ManualUpdate; manual != nil {
		return max(manual.Partitions[subset], 0)
	}
	return 0
}

// bringTo plans creations, updates and the deletion of subsets that left the spec.
func (p *plan) bringTo(s *snapshot, kept map[string]liveSubset) {
	subsets := s.ud.Spec.Topology.Subsets
	var errs []error
	for i := range subsets {
		live, exists := kept[subsets[i].Name]
		if exists && live.object.GetDeletionTimestamp() != nil {
			continue
		}
		if err := p.subset(s, &subsets[i], live, exists); err != nil {
			errs = append(errs, err)
		}
	}
	p.trouble = errors.Join(errs...)
	for _, l := range s.live {
		if _, wanted := p.sizes[l.subset]; !wanted && kept[l.subset].object == l.object {
			p.delete(l.subset, l.object, "the subset is no longer in the spec")
		}
	}
}

func (p *plan) subset(s *snapshot, subset *appsv1beta1.Subset, live liveSubset, exists bool) error {
	size := p.sizes[subset.Name]
	want, err := desired(s.ud, s.adapter, subset, s.update, size)
	if err != nil {
		return err
	}
	m := move{subset: subset.Name, live: live.object, want: want}
	if !exists {
		m.reason = "the subset has no " + s.adapter.kind().Kind
		p.creates = append(p.creates, m)
		return nil
	}
	if m.want, err = p.withBudget(s, subset, &live, want); err != nil {
		return err
	}
	if m.reason = whyUpdate(s, subset, live, size); m.reason == "" {
		m.reason = whereElse(&s.adapter.template(live.object).Spec, &s.adapter.template(want).Spec)
	}
	if m.reason == "" && p.verdicts[subset.Name].reserving {
		m.reason = whyBudget(live.maxUnavailable, s.adapter.read(m.want).maxUnavailable)
	}
	if m.reason != "" {
		p.updates = append(p.updates, m)
		return nil
	}
	p.stuck = append(p.stuck, stuckPods(s, &live)...)
	return nil
}

// withBudget returns the workload with the maxUnavailable that gets an update past pods in reserve, where one is needed.
func (p *plan) withBudget(s *snapshot, subset *appsv1beta1.Subset, live *liveSubset, want client.Object) (client.Object, error) {
	v, size := p.verdicts[subset.Name], p.sizes[subset.Name]
	size.maxUnavailable = budget(s, &v, live, size, s.adapter.read(want).maxUnavailable)
	if size.maxUnavailable == nil {
		return want, nil
	}
	return desired(s.ud, s.adapter, subset, s.update, size)
}

// whyUpdate says in what the workload differs, apart from where its pods may be; "" when in nothing.
func whyUpdate(s *snapshot, subset *appsv1beta1.Subset, live liveSubset, size sizing) string {
	var reasons []string
	if was := live.object.GetLabels()[appsv1beta1.SubsetRevisionLabel]; was != s.update {
		reasons = append(reasons, fmt.Sprintf("revision %s is to be %s", was, s.update))
	}
	if live.replicas != size.replicas {
		reasons = append(reasons, fmt.Sprintf("replicas %d are to be %d", live.replicas, size.replicas))
	}
	if live.partitioned && live.partition != size.partition {
		reasons = append(reasons, fmt.Sprintf("partition %d is to be %d", live.partition, size.partition))
	}
	if live.object.GetAnnotations()[appsv1beta1.SubsetPatchAnnotation] != string(subset.Patch.Raw) {
		reasons = append(reasons, "the patch has changed")
	}
	return strings.Join(reasons, ", ")
}

// names lists the subsets of some moves, for people.
func names(moves []move) string {
	out := make([]string, len(moves))
	for i := range moves {
		out[i] = moves[i].subset
	}
	return strings.Join(out, ", ")
}
