// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// conflictRetry is how soon a pass that lost a race is tried again.
const conflictRetry = 50 * time.Millisecond

// Outcome is what a step says to the steps after it.
type Outcome struct {
	// RequeueAfter asks for another pass; zero or less asks for none.
	RequeueAfter time.Duration
	// Stop ends the pass after this step, without an error.
	Stop bool
}

// Step is one named part of a reconcile.
type Step struct {
	// Name is put before the step's errors.
	Name string
	// Do is called once, unless an earlier step said Stop.
	Do func(context.Context) (Outcome, error)
}

// Run runs the steps in order. A conflict with another writer is not an error: the pass is tried
// again soon.
func Run(ctx context.Context, list ...Step) (reconcile.Result, error) {
	var result reconcile.Result
	var errs []error
	for _, step := range list {
		out, err := step.Do(ctx)
		switch {
		case err == nil:
		case apierrors.IsConflict(err):
			log.FromContext(ctx).V(1).Info("lost a race, trying again", "step", step.Name, "error", err.Error())
			out.RequeueAfter = Sooner(out.RequeueAfter, conflictRetry)
		default:
			errs = append(errs, fmt.Errorf("%s: %w", step.Name, err))
		}
		result.RequeueAfter = Sooner(result.RequeueAfter, out.RequeueAfter)
		if out.Stop {
			break
		}
	}
	if len(errs) > 0 {
		return reconcile.Result{}, errors.Join(errs...)
	}
	return result, nil
}

// Sooner returns the shorter of two waits; zero and less mean no wait was asked for.
func Sooner(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	default:
		return min(a, b)
	}
}
