// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podadmission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Mutator is one step of the admission of a new pod.
type Mutator interface {
	// Name of the step, for errors.
	Name() string
	// Mutate changes the pod, whose namespace is filled in, and tells whether it did.
	Mutate(ctx context.Context, pod *corev1.Pod) (bool, error)
}

// Handler runs the steps in order.
type Handler struct {
	// Decoder reads pods.
	Decoder admission.Decoder
	// Mutators in the order in which they run.
	Mutators []Mutator
}

// Handle admits one pod: without a patch when no step changed it.
func (h *Handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := h.Decoder.Decode(req, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if pod.Namespace == "" {
		pod.Namespace = req.Namespace
	}
	before, changed := pod.DeepCopy(), false
	for _, m := range h.Mutators {
		did, err := run(ctx, m, pod)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		changed = changed || did
	}
	if !changed {
		return admission.Allowed("")
	}
	return patch(before, pod)
}

func patch(before, after *corev1.Pod) admission.Response {
	old, err := json.Marshal(before)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	changed, err := json.Marshal(after)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(old, changed)
}

func run(ctx context.Context, m Mutator, pod *corev1.Pod) (changed bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.FromContext(ctx).Error(nil, "panic at the admission of a pod", "step", m.Name(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", m.Name(), p)
		}
	}()
	changed, err = m.Mutate(ctx, pod)
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Name(), err)
	}
	return changed, err
}
