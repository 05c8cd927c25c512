// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func step(name string, ran *[]string, out Outcome, err error) Step {
	return Step{Name: name, Do: func(context.Context) (Outcome, error) {
		*ran = append(*ran, name)
		return out, err
	}}
}

func TestRun(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("changed"))
	for name, tc := range map[string]struct {
		steps func(*[]string) []Step
		ran   int
		after time.Duration
		err   bool
	}{
		"soonest requeue": {func(r *[]string) []Step {
			return []Step{step("a", r, Outcome{RequeueAfter: 5 * time.Second}, nil), step("b", r, Outcome{RequeueAfter: 2 * time.Second}, nil), step("c", r, Outcome{}, nil)}
		}, 3, 2 * time.Second, false},
		"error goes on": {func(r *[]string) []Step {
			return []Step{step("a", r, Outcome{}, errors.New("x")), step("b", r, Outcome{}, nil)}
		}, 2, 0, true},
		"stop": {func(r *[]string) []Step {
			return []Step{step("a", r, Outcome{Stop: true}, nil), step("b", r, Outcome{}, nil)}
		}, 1, 0, false},
		"conflict is quiet": {func(r *[]string) []Step {
			return []Step{step("a", r, Outcome{RequeueAfter: time.Minute}, conflict)}
		}, 1, conflictRetry, false},
	} {
		t.Run(name, func(t *testing.T) {
			var ran []string
			res, err := Run(context.Background(), tc.steps(&ran)...)
			if len(ran) != tc.ran || res.RequeueAfter != tc.after || (err != nil) != tc.err {
				t.Errorf("ran %v, after %v, err %v", ran, res.RequeueAfter, err)
			}
		})
	}
}
