// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// readiness answers /readyz in words: a user must be able to read there why a node is not served.
type readiness map[string]healthz.Checker

// check returns what keeps the agent from being ready, each part under its name.
func (r readiness) check(req *http.Request) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if err := r[name](req); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// ServeHTTP answers 200 "ok", or 503 with the reasons.
func (r readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := r.check(req); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprint(w, "ok") // the asker has gone when this fails
}

func runtimeUp(connector *cri.Connector) healthz.Checker {
	return func(*http.Request) error {
		_, err := connector.Current()
		return err
	}
}

// podsKnown tells whether the pods of the node have been read once.
func podsKnown(mgr ctrl.Manager) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), 100*time.Millisecond)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the pods of this node have not been read yet")
		}
		return nil
	}
}
