// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// wrap gives an error of a call the kind that callers decide by, counts it, and keeps the runtime's words.
func wrap(method string, err error) error {
	code := status.Code(err)
	callErrors.WithLabelValues(method, code.String()).Inc()
	words := status.Convert(err).Message()
	switch code {
	case codes.NotFound:
		return fmt.Errorf("%s: %w: %s", method, ErrNotFound, words)
	case codes.Unimplemented:
		return fmt.Errorf("%s: %w: %s", method, ErrUnsupported, words)
	case codes.Unavailable, codes.Canceled:
		return fmt.Errorf("%s: %w: %s", method, ErrUnavailable, words)
	default:
		return fmt.Errorf("%s: %w", method, err)
	}
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
