// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/internal/conditions"
)

// maxMessage bounds the message of condition Applied, in bytes.
const maxMessage = 1024

// result is what became of applying one generation of a slice.
type result struct {
	// uid and generation of the slice.
	uid        types.UID
	generation int64
	// reason is one of condition Applied; message says more when it is not Applied.
	reason, message string
	// object is the kind and name of the first object, generation its generation after the last write.
	object           recentKey
	objectGeneration int64
	// spread is the kind and name of the WorkloadSpread among the objects; empty without one.
	spread recentKey
}

// condition is the result as condition Applied.
func (r result) condition() metav1.Condition {
	status := metav1.ConditionFalse
	if r.reason == fleetv1alpha1.SliceReasonApplied {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{
		Type: fleetv1alpha1.SliceConditionApplied, Status: status, Reason: r.reason,
		Message: conditions.Cut(r.message, maxMessage), ObservedGeneration: r.generation,
	}
}

// conflictError says that an object is not ours and may not become so.
type conflictError struct{ text string }

func (e conflictError) Error() string { return e.text }

// waitingError says that something that was written has yet to be taken up by its controller.
type waitingError struct{ text string }

func (e waitingError) Error() string { return e.text }

// reasonOf sorts an error into a reason of condition Applied.
func reasonOf(err error) string {
	var conflict conflictError
	var unreadable unreadableError
	switch {
	case err == nil:
		return fleetv1alpha1.SliceReasonApplied
	case errors.As(err, &conflict):
		return fleetv1alpha1.SliceReasonConflict
	case errors.As(err, &unreadable):
		return fleetv1alpha1.SliceReasonUnreadable
	case rejected(err):
		return fleetv1alpha1.SliceReasonRejected
	default:
		return fleetv1alpha1.SliceReasonRetrying
	}
}

// rejected tells whether the API server understood the request and said no to it.
func rejected(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// results hands what applying came to from the controller that applies to the one that reports.
type results struct {
	mu     sync.Mutex
	byName map[string]result
}

func newResults() *results { return &results{byName: map[string]result{}} }

// put keeps a slice's result and tells whether it is another than before.
func (r *results) put(slice string, now result) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[slice] == now {
		return false
	}
	r.byName[slice] = now
	return true
}

func (r *results) get(slice string, uid types.UID) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, ok := r.byName[slice]
	return out, ok && out.uid == uid
}

func (r *results) drop(slice string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byName, slice)
}
