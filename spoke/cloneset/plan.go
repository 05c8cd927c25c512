// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/rollout"
)

// keepFinished is how many Failed or Succeeded pods stay to be looked at.
const keepFinished = 3

// situation is what the rules depend on beside the spec.
type situation struct {
	// sameRevision says that current and update revision are the same.
	sameRevision bool
	// awaited are pods on their way out whose claims a successor is to use.
	awaited []string
}

// rulesOf turns a defaulted CloneSet into the engine's rules. An error names limits that cannot be
// read; they count as 0.
func rulesOf(set *appsv1beta1.CloneSet, now situation, o *Options, d differs) (podset.Rules, error) {
	budget, err := budgetOf(set, o)
	budget.SameRevision = now.sameRevision
	members := &podset.Replicas{
		Budget: budget, Specified: set.Spec.ScaleStrategy.PodsToDelete, Awaited: now.awaited,
		SpreadConstraints:        set.Spec.Template.Spec.TopologySpreadConstraints,
		PreparingUpdateIsUpdated: o.PreparingUpdateAsUpdate,
	}
	rules := podset.Rules{
		Members: members, Lifecycle: set.Spec.Lifecycle,
		MinReady: time.Duration(set.Spec.MinReadySeconds) * time.Second,
		RevisionLabels: func(r *appsv1.ControllerRevision) map[string]string {
			return revisionLabels(r, o.ShortHash)
		},
		KeepFinished: keepFinished, DropFinished: set.Spec.ScaleStrategy.PodsToDelete,
	}
	if set.Spec.ScaleStrategy.EnablePVCReuse && len(set.Spec.VolumeClaimTemplates) > 0 {
		// A dead pod would keep its claims from being used again.
		rules.KeepFinished = 0
	}
	if onDelete(set) {
		rules.Update.OnDelete = true
		rules.Update.Hold = &podset.Wait{Reason: podset.WaitOnDelete, Message: "updateStrategy.type OnDelete: pods are updated when somebody deletes them"}
		return rules, err
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	members.Ordering = rollout.Ordering{Priority: rolling.PriorityStrategy, Scatter: rolling.ScatterStrategy}
	rules.Update = updateRules(rolling, d)
	rules.Update.ReplaceFirst = budget.MaxSurge > 0
	return rules, err
}

func updateRules(rolling *appsv1beta1.RollingUpdateCloneSetStrategy, d differs) podset.UpdateRules {
	out := podset.UpdateRules{Differ: d.strict}
	switch rolling.PodUpdatePolicy {
	case appsv1beta1.InPlaceIfPossiblePodUpdateStrategyType:
		out.Policy = podset.InPlaceIfPossible
	case appsv1beta1.InPlaceOnlyPodUpdateStrategyType:
		out.Policy, out.Differ = podset.InPlaceOnly, d.plain
	case appsv1beta1.RecreatePodUpdateStrategyType:
		out.Policy = podset.Recreate
	default:
		out.Policy = podset.Recreate
	}
	if rolling.Paused {
		out.Hold = &podset.Wait{Reason: podset.WaitPaused, Message: "updateStrategy.rollingUpdate.paused is true"}
	}
	if rolling.InPlaceUpdateStrategy != nil {
		out.GraceSeconds = rolling.InPlaceUpdateStrategy.GracePeriodSeconds
	}
	return out
}

func budgetOf(set *appsv1beta1.CloneSet, o *Options) (rollout.Budget, error) {
	replicas := int(*set.Spec.Replicas)
	scaling := set.Spec.ScaleStrategy
	limits := rollout.Limits{CreateLimit: scaling.MaxUnavailable}
	if !onDelete(set) {
		rolling := set.Spec.UpdateStrategy.RollingUpdate
		limits.Partition, limits.MaxSurge, limits.MaxUnavailable = rolling.Partition, rolling.MaxSurge, rolling.MaxUnavailable
		limits.Paused = rolling.Paused
	}
	budget, err := rollout.Resolve(replicas, limits)
	if onDelete(set) {
		// A fifth, rounded down.
		budget.MaxUnavailable = replicas / 5
	}
	budget.Rollback = o.PartitionRollback
	budget.ExcludePreparingDelete = scaling.ExcludePreparingDelete || o.ExcludePreparingDelete ||
		set.Labels[appsv1beta1.CloneSetScalingExcludePreparingDelete] == "true"
	return budget, err
}

// awaited names the pods that are on their way out and whose claims a successor is to use.
func awaited(set *appsv1beta1.CloneSet, list []*corev1.Pod, claims []*corev1.PersistentVolumeClaim) []string {
	if !set.Spec.ScaleStrategy.EnablePVCReuse {
		return nil
	}
	claimed := map[string]bool{}
	for _, claim := range claims {
		claimed[claim.Labels[appsv1beta1.CloneSetInstanceID]] = true
	}
	var out []string
	for _, pod := range list {
		if !pods.IsActive(pod) && claimed[instanceID(set, pod)] {
			out = append(out, pod.Name)
		}
	}
	return out
}

// revisionLabels mark a pod of a revision. The hash alone stands for a name too long for a label's value: the two
// mean the same everywhere.
func revisionLabels(r *appsv1.ControllerRevision, short bool) map[string]string {
	hash := r.Labels[appsv1beta1.ControllerHashLabel]
	if hash == "" {
		hash = pods.ShortHash(r.Name)
	}
	name := r.Name
	if short || len(name) > validation.LabelValueMaxLength {
		name = hash
	}
	return map[string]string{
		appsv1beta1.ControllerRevisionHashLabel: name,
		appsv1beta1.PodTemplateHashLabel:        hash,
	}
}
