// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

// DefaultRollout is v1beta1.DefaultRollout for an object sent as v1alpha1.
func DefaultRollout(obj *Rollout) {
	canary := obj.Spec.Strategy.Canary
	if canary == nil {
		return
	}
	v1beta1.DefaultTrafficRoutings(canary.TrafficRoutings)
	for i := range canary.Steps {
		defaultMatches(canary.Steps[i].Matches)
	}
}

// DefaultTrafficRouting fills the fields of a TrafficRouting that say nothing.
func DefaultTrafficRouting(obj *TrafficRouting) {
	v1beta1.DefaultTrafficRoutings(obj.Spec.ObjectRef)
	defaultMatches(obj.Spec.Strategy.Matches)
}

func defaultMatches(matches []HTTPRouteMatch) {
	for i := range matches {
		v1beta1.DefaultHeaders(matches[i].Headers)
	}
}
