// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestQuietly(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "r"}, "n", errors.New("changed"))
	other := errors.New("other")
	for name, tt := range map[string]struct {
		inner reconcile.Result
		err   error
		want  reconcile.Result
		fails bool
	}{
		"well":          {inner: reconcile.Result{RequeueAfter: time.Hour}, want: reconcile.Result{RequeueAfter: time.Hour}},
		"lost a race":   {err: conflict, want: reconcile.Result{RequeueAfter: conflictDelay}},
		"wrapped":       {err: errors.Join(conflict), want: reconcile.Result{RequeueAfter: conflictDelay}},
		"another error": {err: other, fails: true},
	} {
		inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return tt.inner, tt.err })
		got, err := Quietly(inner).Reconcile(t.Context(), reconcile.Request{})
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestOptionsNeverWaitLong(t *testing.T) {
	limiter, req := Options().RateLimiter, reconcile.Request{}
	for range 100 {
		if wait := limiter.When(req); wait > 2*time.Second {
			t.Fatalf("waits %s", wait)
		}
	}
}
