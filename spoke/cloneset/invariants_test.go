// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/inplace"
	"github.com/flotilla-sh/flotilla/spoke/podset"
)

// check holds a plan against what a CloneSet promises.
func (s *sim) check(snapshot *podset.Snapshot, plan *podset.Plan) error {
	b := boundsOf(s.set)
	for _, err := range []error{
		s.checkAvailability(snapshot, plan, b),
		s.checkSurge(plan, b),
		s.checkScaleLimit(snapshot, plan),
		s.checkDeletions(snapshot, plan, b),
		s.checkRevisions(snapshot, plan, b),
		s.checkOrderOfWrites(plan),
		s.checkWaits(snapshot, plan, b),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *sim) minReady() time.Duration {
	return time.Duration(s.set.Spec.MinReadySeconds) * time.Second
}

// takesAway says whether a change makes an available pod unavailable.
func takesAway(pod *corev1.Pod, c *podset.Change) bool {
	after := *pod
	for i := range c.Writes {
		c.Writes[i].Patch.ApplyTo(&after)
	}
	return !pods.IsReady(&after) || !pods.IsNormal(&after)
}

// checkAvailability: who is taken away must leave replicas - maxUnavailable available pods. Pods that
// we took away before and that the view still shows as available would not count: that the view
// shows them so is itself a breach of the rule that own writes are seen first.
func (s *sim) checkAvailability(snapshot *podset.Snapshot, plan *podset.Plan, b bounds) error {
	available := map[string]bool{}
	for _, pod := range snapshot.Pods {
		if !serves(pod, s.minReady(), snapshot.Now) {
			continue
		}
		if at, ok := s.disrupted[pod.UID]; ok && newer(at, pod.ResourceVersion) {
			return fmt.Errorf("plans on pod %s as it was before our own write", pod.Name)
		}
		available[pod.Name] = true
	}
	before := len(available)
	for i := range plan.Delete {
		delete(available, plan.Delete[i].Pod.Name)
	}
	for i := range plan.Change {
		c := &plan.Change[i]
		if available[c.Pod.Name] && takesAway(c.Pod, c) {
			s.disrupted[c.Pod.UID] = c.Pod.ResourceVersion
			delete(available, c.Pod.Name)
		}
	}
	if floor := b.replicas - b.unavailable; len(available) < before && len(available) < floor {
		return fmt.Errorf("%d pods available of %d before, floor %d: %s", len(available), before, floor, describePlan(plan))
	}
	return nil
}

func newer(a, b string) bool {
	return len(a) > len(b) || len(a) == len(b) && a > b
}

// checkSurge: a creation never leads above replicas + maxSurge, by the truth. The surge of an update is no more
// than there are pods to move (CS-18), which checkRevisions sees.
func (s *sim) checkSurge(plan *podset.Plan, b bounds) error {
	if len(plan.Create) == 0 {
		return nil
	}
	active := 0
	for _, pod := range s.Truth() {
		leaving := pod.Labels[appsv1beta1.LifecycleStateKey] == "PreparingDelete" && s.set.Spec.ScaleStrategy.ExcludePreparingDelete
		if counts(pod) && !leaving {
			active++
		}
	}
	if total := active + len(plan.Create); total > b.replicas+b.surge {
		return fmt.Errorf("%d pods after creating %d: replicas %d, maxSurge %d", total, len(plan.Create), b.replicas, b.surge)
	}
	return nil
}

// checkScaleLimit: no more pods are made than scaleStrategy.maxUnavailable lets be unavailable, with those that are.
func (s *sim) checkScaleLimit(snapshot *podset.Snapshot, plan *podset.Plan) error {
	limit := s.set.Spec.ScaleStrategy.MaxUnavailable
	if limit == nil || len(plan.Create) == 0 {
		return nil
	}
	_, unavailable := s.missing(snapshot)
	if most := limit.IntValue(); unavailable+len(plan.Create) > most {
		return fmt.Errorf("%d pods made beside %d unavailable ones, scaleStrategy.maxUnavailable %d", len(plan.Create), unavailable, most)
	}
	return nil
}

// missing counts the pods there are, and those that use budgets up: not available ones, but for those that are to be
// deleted anyway and were not begun on.
func (s *sim) missing(snapshot *podset.Snapshot) (total, unavailable int) {
	for _, pod := range snapshot.Pods {
		if !counts(pod) {
			continue
		}
		total++
		preparing := pod.Labels[appsv1beta1.LifecycleStateKey] == "PreparingDelete"
		if preparing || !s.leaves(pod) && !serves(pod, s.minReady(), snapshot.Now) {
			unavailable++
		}
	}
	return total, unavailable
}

// checkDeletions: of pods that are ready, though maybe not for minReadySeconds, no more are begun to be deleted than
// maxUnavailable and the pods there are beyond replicas allow.
func (s *sim) checkDeletions(snapshot *podset.Snapshot, plan *podset.Plan, b bounds) error {
	ready := 0
	for i := range plan.Delete {
		if d := &plan.Delete[i]; !d.ForUpdate && serves(d.Pod, 0, snapshot.Now) {
			ready++
		}
	}
	for i := range plan.Change {
		if c := &plan.Change[i]; c.Kind == podset.PrepareDelete && serves(c.Pod, 0, snapshot.Now) {
			ready++
		}
	}
	total, unavailable := s.missing(snapshot)
	if most := max(0, b.unavailable+total-b.replicas-unavailable); ready > most {
		return fmt.Errorf("%d ready pods go, %d may: %s", ready, most, describePlan(plan))
	}
	return nil
}

// checkRevisions: pods are made of, and moved to, the two revisions asked for, and neither creation nor update
// brings more than replicas - partition pods to the update revision, but for those being replaced; nor are pods taken
// that the partition keeps.
func (s *sim) checkRevisions(snapshot *podset.Snapshot, plan *podset.Plan, b bounds) error {
	update, current := snapshot.Update.Name, snapshot.Current.Name
	updated, leaving, moved, staying := 0, 0, 0, 0
	for _, pod := range snapshot.Pods {
		if !counts(pod) {
			continue
		}
		if s.leaves(pod) {
			leaving++
		} else if !carries(pod, update) {
			staying++
		}
		if carries(pod, update) {
			updated++
		}
	}
	for i := range plan.Create {
		switch plan.Create[i].Revision.Name {
		case update:
			moved++
		case current:
			if b.partition == 0 && leaving == 0 {
				return fmt.Errorf("a pod of the old revision with partition 0")
			}
		default:
			return fmt.Errorf("a pod of revision %s, which nobody asked for", plan.Create[i].Revision.Name)
		}
	}
	kept := min(staying, b.partition)
	for i := range plan.Delete {
		if d := &plan.Delete[i]; d.ForUpdate && !carries(d.Pod, update) {
			staying--
		}
	}
	for i := range plan.Change {
		c := &plan.Change[i]
		switch {
		case c.Kind == podset.MarkForRecreate && !carries(c.Pod, update):
			staying--
		case c.Kind != podset.UpdateInPlace:
		case c.Revision == update:
			moved++
			staying--
		case c.Revision != current || !s.options.PartitionRollback:
			return fmt.Errorf("pod %s moves to revision %s, which nobody asked for", c.Pod.Name, c.Revision)
		}
	}
	if staying < kept {
		return fmt.Errorf("%d pods stay at the old revision, partition %d: %s", staying, b.partition, describePlan(plan))
	}
	if bound := b.replicas - b.partition + leaving; moved > 0 && updated+moved > bound && update != current {
		return fmt.Errorf("%d pods of the new revision, %d allowed: %s", updated+moved, bound, describePlan(plan))
	}
	return nil
}

// checkWaits: while nothing moves and the set is not as asked, something is said of it (every wait is explained), and
// where all is as asked nothing is but the partition.
func (s *sim) checkWaits(snapshot *podset.Snapshot, plan *podset.Plan, b bounds) error {
	if !plan.Empty() {
		return nil
	}
	total, available, updated := 0, 0, 0
	for _, pod := range snapshot.Pods {
		if !counts(pod) {
			continue
		}
		total++
		if serves(pod, s.minReady(), snapshot.Now) {
			available++
		}
		if carries(pod, snapshot.Update.Name) {
			updated++
		}
	}
	asAsked := total == b.replicas && available == b.replicas && updated >= b.replicas-b.partition
	switch {
	case !asAsked && len(plan.Waits) == 0:
		return fmt.Errorf("nothing moves and nothing is said: %d pods, %d available, %d updated of %+v", total, available, updated, b)
	case asAsked && !s.somethingAskedFor(snapshot):
		for i := range plan.Waits {
			if w := &plan.Waits[i]; w.Reason != podset.WaitPartition && w.Reason != "OnDelete" && w.Reason != "Paused" {
				return fmt.Errorf("all is as asked, and still %s: %s %v", w.Reason, w.Message, w.Pods)
			}
		}
	}
	return nil
}

// somethingAskedFor says whether pods are to be deleted beside the numbers, or moved back to an older revision.
func (s *sim) somethingAskedFor(snapshot *podset.Snapshot) bool {
	return s.options.PartitionRollback || slices.ContainsFunc(snapshot.Pods, s.leaves)
}

// leaves says whether a pod is on its way out.
func (s *sim) leaves(pod *corev1.Pod) bool {
	_, specified := pod.Labels[appsv1beta1.SpecifiedDeleteKey]
	return specified || pod.Labels[appsv1beta1.LifecycleStateKey] == "PreparingDelete" || slices.Contains(s.set.Spec.ScaleStrategy.PodsToDelete, pod.Name)
}

// checkOrderOfWrites: containers change only behind a closed gate, and after an update the gate opens only on a pod that
// is, and runs, what its revision says.
func (s *sim) checkOrderOfWrites(plan *podset.Plan) error {
	for i := range plan.Change {
		c := &plan.Change[i]
		after := *c.Pod
		for j := range c.Writes {
			patch := &c.Writes[j].Patch
			if len(patch.Images) > 0 && !closed(&after) {
				return fmt.Errorf("pod %s: containers change behind an open gate", c.Pod.Name)
			}
			opens := slices.ContainsFunc(patch.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == appsv1beta1.InPlaceUpdateReady && c.Status == corev1.ConditionTrue
			})
			if opens && after.Annotations[appsv1beta1.InPlaceUpdateStateKey] != "" {
				if err := asTemplate(&after, s.templates[s.templateNamed(after.Labels[appsv1beta1.ControllerRevisionHashLabel])]); err != nil {
					return fmt.Errorf("the gate opens: %w", err)
				}
			}
			patch.ApplyTo(&after)
		}
	}
	return nil
}

func closed(pod *corev1.Pod) bool {
	c := pods.Condition(pod, appsv1beta1.InPlaceUpdateReady)
	return c != nil && c.Status == corev1.ConditionFalse
}

func describePlan(plan *podset.Plan) string {
	return fmt.Sprintf("create %d, delete %d, change %d", len(plan.Create), len(plan.Delete), len(plan.Change))
}

// asTemplate says how a pod differs from the template it is labelled with.
func asTemplate(pod *corev1.Pod, template *corev1.PodTemplateSpec) error {
	if got, want := pod.Annotations["note"], template.Annotations["note"]; got != want {
		return fmt.Errorf("pod %s has annotation %q, its template %q", pod.Name, got, want)
	}
	for i := range template.Spec.Containers {
		got, want := &pod.Spec.Containers[i], &template.Spec.Containers[i]
		if got.Image != want.Image || got.Resources.Requests.Cpu().Cmp(*want.Resources.Requests.Cpu()) != 0 {
			return fmt.Errorf("pod %s has image %s and %s cpu, its template %s and %s", pod.Name,
				got.Image, got.Resources.Requests.Cpu(), want.Image, want.Resources.Requests.Cpu())
		}
		if i >= len(pod.Status.ContainerStatuses) {
			return fmt.Errorf("pod %s: container %s has no status", pod.Name, want.Name)
		}
		if status := &pod.Status.ContainerStatuses[i]; status.Image != want.Image {
			return fmt.Errorf("pod %s runs image %s, its template has %s", pod.Name, status.Image, want.Image)
		}
	}
	return nil
}

// converged says how the set differs from what was asked for, once nothing moves any more.
func (s *sim) converged() error {
	b := boundsOf(s.set)
	total, available, updated, current, finished := 0, 0, 0, 0, 0
	for _, pod := range s.Truth() {
		if !counts(pod) {
			if pod.DeletionTimestamp == nil {
				finished++
			}
			continue
		}
		total++
		switch {
		case carries(pod, s.update.Name):
			updated++
			if err := asTemplate(pod, &s.set.Spec.Template); err != nil {
				return err
			}
		case carries(pod, s.current().Name):
			current++
		}
		if serves(pod, s.minReady(), s.Now) {
			available++
		}
		if state, _ := inplace.ReadState(pod); state != nil && !inplace.IsComplete(pod) {
			return fmt.Errorf("pod %s: update not complete", pod.Name)
		}
	}
	rollback := s.options.PartitionRollback && s.update != s.current()
	switch {
	case total != b.replicas || available != b.replicas:
		return fmt.Errorf("at rest with %d pods, %d available, of %d", total, available, b.replicas)
	case updated < b.replicas-b.partition, rollback && updated != b.replicas-b.partition:
		return fmt.Errorf("at rest with %d updated of %d", updated, b.replicas-b.partition)
	case finished > keepFinished:
		return fmt.Errorf("at rest with %d dead pods", finished)
	case len(s.waits) > 0 && s.waits[0].Reason != podset.WaitPartition:
		return fmt.Errorf("at rest, and still waiting: %+v", s.waits)
	}
	return nil
}
