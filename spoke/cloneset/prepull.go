// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"context"

	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/pods"
	"github.com/flotilla-sh/flotilla/internal/steps"
	"github.com/flotilla-sh/flotilla/spoke/podset"
	"github.com/flotilla-sh/flotilla/spoke/prepull"
	"github.com/flotilla-sh/flotilla/spoke/revision"
)

// prepull has the images of the rollout pulled ahead, where the gate says so.
func (p *pass) prepull(ctx context.Context) (steps.Outcome, error) {
	if !p.PreDownload || p.history.Current != p.history.Update && prepull.Settled(p.history.Update) {
		return steps.Outcome{}, nil
	}
	rollout, err := p.pullsOf()
	if err != nil {
		return steps.Outcome{}, err
	}
	return steps.Outcome{}, p.puller.Carry(ctx, p.stored, appsv1beta1.Kind("CloneSet"), p.history.Update, prepull.Make(rollout))
}

// pullsOf is what the pull engine wants to know; between rollouts that is only that there is none.
func (p *pass) pullsOf() (*prepull.Rollout, error) {
	if p.history.Current == p.history.Update {
		return &prepull.Rollout{Current: p.history.Current, Update: p.history.Update}, nil
	}
	from, err := revision.Template(p.history.Current)
	if err != nil {
		return nil, err
	}
	to, err := revision.Template(p.history.Update)
	if err != nil {
		return nil, err
	}
	out := &prepull.Rollout{
		Namespace: p.set.Namespace, Selector: p.set.Spec.Selector, Current: p.history.Current, Update: p.history.Update,
		From: from, To: to, Replicas: int(*p.set.Spec.Replicas), Useless: p.pullUseless(), Settings: pullSettings(p.set),
	}
	view, _ := podset.Look(p.snapshot, p.rules)
	for i := range view.Active {
		if view.Active[i].Updated && pods.IsReady(view.Active[i].Pod) {
			out.UpdatedReady++
		}
	}
	return out, nil
}

// pullUseless says why pods would gain nothing from images pulled ahead; empty when they would.
func (p *pass) pullUseless() string {
	update := &p.rules.Update
	if update.OnDelete || update.Policy == podset.Recreate {
		return "pods are not updated in place"
	}
	rolling := p.set.Spec.UpdateStrategy.RollingUpdate
	budget, err := budgetOf(p.set, &p.Options)
	if err != nil {
		return err.Error()
	}
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, budget.Replicas, false)
	if err == nil && budget.Partition == 0 && unavailable >= budget.Replicas {
		return "all pods are updated at once"
	}
	return update.Differ.Diff(p.history.Current, p.history.Update).Because
}

func pullSettings(set *appsv1beta1.CloneSet) prepull.Settings {
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.InPlaceUpdateStrategy == nil {
		return prepull.Settings{}
	}
	in := rolling.InPlaceUpdateStrategy
	out := prepull.Settings{Parallelism: in.ImagePreDownloadParallelism, TimeoutSeconds: in.ImagePreDownloadTimeoutSeconds}
	if in.ImagePreDownloadMinUpdatedReadyPods != nil {
		out.MinUpdatedReady = int(*in.ImagePreDownloadMinUpdatedReadyPods)
	}
	return out
}
