// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// callError is a call that failed: the kind that callers decide by, and the runtime's own words.
type callError struct {
	method string
	kind   error
	words  string
}

func (e *callError) Error() string { return fmt.Sprintf("%s: %v: %s", e.method, e.kind, e.words) }

func (e *callError) Unwrap() error { return e.kind }

// wrap counts an error of a call and tells its kind.
func wrap(method string, err error) error {
	code := status.Code(err)
	callErrors.WithLabelValues(method, code.String()).Inc()
	failed := &callError{method: method, words: status.Convert(err).Message()}
	switch code {
	case codes.NotFound:
		failed.kind = ErrNotFound
	case codes.Unimplemented:
		failed.kind = ErrUnsupported
	case codes.Unavailable, codes.Canceled:
		failed.kind = ErrUnavailable
	default:
		return fmt.Errorf("%s: %w", method, err)
	}
	return failed
}

func podRef(labels map[string]string) PodRef {
	return PodRef{Namespace: labels[labelPodNamespace], Name: labels[labelPodName], UID: labels[labelPodUID]}
}

func stateOf(s criapi.ContainerState) ContainerState {
	switch s {
	case criapi.ContainerState_CONTAINER_CREATED:
		return ContainerCreated
	case criapi.ContainerState_CONTAINER_RUNNING:
		return ContainerRunning
	case criapi.ContainerState_CONTAINER_EXITED:
		return ContainerExited
	default:
		return ContainerUnknown
	}
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Words returns what the runtime itself said of an error of a call, without what is added on the way to it.
func Words(err error) string {
	if failed, ok := errors.AsType[*callError](err); ok {
		return failed.words
	}
	if told, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return told.GRPCStatus().Message()
	}
	return err.Error()
}
