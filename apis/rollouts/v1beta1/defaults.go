// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// DefaultGracePeriodSeconds is the default of trafficRoutings[].gracePeriodSeconds.
const DefaultGracePeriodSeconds int32 = 3

// DefaultRollout fills the fields of a Rollout that say nothing: those that the API server fills by the schema,
// for objects that came by another way. Nothing else is filled: the hash of the strategy is made of it.
func DefaultRollout(obj *Rollout) {
	if canary := obj.Spec.Strategy.Canary; canary != nil {
		defaultSteps(canary.Steps, canary.TrafficRoutings)
	}
	if blueGreen := obj.Spec.Strategy.BlueGreen; blueGreen != nil {
		defaultSteps(blueGreen.Steps, blueGreen.TrafficRoutings)
	}
}

func defaultSteps(steps []CanaryStep, routings []TrafficRoutingRef) {
	DefaultTrafficRoutings(routings)
	for i := range steps {
		for j := range steps[i].Matches {
			defaultMatch(&steps[i].Matches[j])
		}
	}
}

// DefaultTrafficRoutings fills the fields of traffic routings that say nothing.
func DefaultTrafficRoutings(routings []TrafficRoutingRef) {
	for i := range routings {
		point(&routings[i].GracePeriodSeconds, DefaultGracePeriodSeconds)
	}
}

// DefaultHeaders fills the fields of header matches that say nothing.
func DefaultHeaders(headers []HTTPHeaderMatch) {
	for i := range headers {
		point(&headers[i].Type, HeaderMatchExact)
	}
}

func defaultMatch(match *HTTPRouteMatch) {
	DefaultHeaders(match.Headers)
	for i := range match.QueryParams {
		point(&match.QueryParams[i].Type, QueryParamMatchExact)
	}
	if match.Path != nil {
		point(&match.Path.Type, PathMatchPathPrefix)
		point(&match.Path.Value, "/")
	}
}

// point sets a field that is nil.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
