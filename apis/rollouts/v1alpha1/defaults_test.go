// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-sh/flotilla/apis/rollouts/v1beta1"
)

type defaultCase struct{ in, want string }

func runDefaults[T any](t *testing.T, fill func(*T), cases map[string]defaultCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := parsed[T](t, c.in)
			fill(got)
			fill(got)
			if diff := cmp.Diff(parsed[T](t, c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	runDefaults(t, v1beta1.DefaultRollout, map[string]defaultCase{
		"nothing": {in: `{}`, want: `{}`},
		"canary": {
			in: `{spec: {strategy: {canary: {trafficRoutings: [{service: a}, {service: b, gracePeriodSeconds: 0}],
				steps: [{}, {matches: [{path: {}, headers: [{name: a}], queryParams: [{name: b}]}]}]}}}}`,
			want: `{spec: {strategy: {canary: {trafficRoutings: [{service: a, gracePeriodSeconds: 3}, {service: b, gracePeriodSeconds: 0}],
				steps: [{}, {matches: [{path: {type: PathPrefix, value: /}, headers: [{name: a, type: Exact}], queryParams: [{name: b, type: Exact}]}]}]}}}}`,
		},
		"blue-green": {in: `{spec: {strategy: {blueGreen: {trafficRoutings: [{service: a}]}}}}`,
			want: `{spec: {strategy: {blueGreen: {trafficRoutings: [{service: a, gracePeriodSeconds: 3}]}}}}`},
	})
	runDefaults(t, DefaultRollout, map[string]defaultCase{
		"nothing": {in: `{}`, want: `{}`},
		"canary": {
			in:   `{spec: {strategy: {canary: {trafficRoutings: [{service: a}], steps: [{matches: [{headers: [{name: a}]}]}]}}}}`,
			want: `{spec: {strategy: {canary: {trafficRoutings: [{service: a, gracePeriodSeconds: 3}], steps: [{matches: [{headers: [{name: a, type: Exact}]}]}]}}}}`,
		},
	})
	runDefaults(t, DefaultTrafficRouting, map[string]defaultCase{
		"nothing": {in: `{}`, want: `{}`},
		"all":     {in: `{spec: {objectRef: [{service: a}], strategy: {matches: [{headers: [{name: a}]}]}}}`, want: `{spec: {objectRef: [{service: a, gracePeriodSeconds: 3}], strategy: {matches: [{headers: [{name: a, type: Exact}]}]}}}`},
	})
}
