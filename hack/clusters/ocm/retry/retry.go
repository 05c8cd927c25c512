// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	firstDelay    = 50 * time.Millisecond
	longestDelay  = 2 * time.Second
	conflictDelay = 50 * time.Millisecond
)

// Options are the controller options every hub controller of the stand-in uses.
func Options() controller.Options {
	return controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstDelay, longestDelay),
	}
}

// Quietly turns a write that lost against another one into another pass, 50 ms later.
func Quietly(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, req)
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		return result, err
	})
}
