// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podadmission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Operation is what is to be done with a pod.
type Operation string

// The operations.
const (
	Update Operation = "UPDATE" // also by subresource resize
	Delete Operation = "DELETE"
	Evict  Operation = "EVICT"
)

// Review is one request about a pod. Nothing in it is changed.
type Review struct {
	Operation Operation
	// Pod as it is now. Of an eviction, as the cache has it.
	Pod *corev1.Pod
	// Updated is the pod as it would be after an Update.
	Updated *corev1.Pod
	// DryRun says that nothing is to be written.
	DryRun bool
	// User who asks.
	User string
}

// Validator is one step of the admission of an update, deletion or eviction.
type Validator interface {
	// Name of the step, for errors.
	Name() string
	// Validate returns nil to go on, a Denial to refuse, and any other error when it cannot tell.
	Validate(ctx context.Context, review *Review) error
}

// Denial refuses a request.
type Denial struct {
	// Reason is shown to the user.
	Reason string
}

// Error is the reason.
func (d *Denial) Error() string { return d.Reason }

// ValidatingHandler runs the validators in order, up to the first that does not let the request pass.
type ValidatingHandler struct {
	// Decoder reads pods.
	Decoder admission.Decoder
	// Seen is the cache, Live the API server: of the pods that are to be evicted.
	Seen, Live client.Reader
	// Validators in the order in which they run.
	Validators []Validator
}

// Handle answers one request: 403 for a denial, 400 where a validator cannot tell.
func (h *ValidatingHandler) Handle(ctx context.Context, req admission.Request) admission.Response {
	review, err := h.read(ctx, &req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if review == nil {
		return admission.Allowed("")
	}
	for _, v := range h.Validators {
		err := validate(ctx, v, review)
		var denial *Denial
		switch {
		case errors.As(err, &denial):
			return admission.Denied(denial.Reason)
		case err != nil:
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	return admission.Allowed("")
}

// read makes a review of a request; nil for one that nobody has to look at.
func (h *ValidatingHandler) read(ctx context.Context, req *admission.Request) (*Review, error) {
	out := &Review{Operation: operationOf(req), DryRun: req.DryRun != nil && *req.DryRun, User: req.UserInfo.Username}
	switch {
	case out.Operation == Evict:
		return out, h.readEviction(ctx, req, out)
	case out.Operation == "" || len(req.OldObject.Raw) == 0:
		return nil, nil
	case out.Operation == Update:
		out.Updated = &corev1.Pod{}
		if err := h.Decoder.DecodeRaw(req.Object, out.Updated); err != nil {
			return nil, err
		}
	}
	out.Pod = &corev1.Pod{}
	return out, h.Decoder.DecodeRaw(req.OldObject, out.Pod)
}

// operationOf is what a request is about; empty for one that nobody has to look at.
func operationOf(req *admission.Request) Operation {
	switch {
	case req.Operation == admissionv1.Create && req.SubResource == "eviction":
		return Evict
	case req.Operation == admissionv1.Update && (req.SubResource == "" || req.SubResource == "resize"):
		return Update
	case req.Operation == admissionv1.Delete && req.SubResource == "":
		return Delete
	}
	return ""
}

// readEviction finds the pod that is to be evicted. One that does not exist is left to the API server to say.
func (h *ValidatingHandler) readEviction(ctx context.Context, req *admission.Request, out *Review) error {
	eviction := policyv1.Eviction{} // its older version has the same fields
	if err := json.Unmarshal(req.Object.Raw, &eviction); err != nil {
		return err
	}
	if o := eviction.DeleteOptions; o != nil && len(o.DryRun) > 0 && o.DryRun[0] == metav1.DryRunAll {
		out.DryRun = true
	}
	out.Pod = &corev1.Pod{}
	key := client.ObjectKey{Namespace: req.Namespace, Name: req.Name}
	err := h.Seen.Get(ctx, key, out.Pod)
	if apierrors.IsNotFound(err) {
		err = h.Live.Get(ctx, key, out.Pod)
	}
	return client.IgnoreNotFound(err)
}

func validate(ctx context.Context, v Validator, review *Review) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.FromContext(ctx).Error(nil, "panic at the admission of a pod", "step", v.Name(), "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", v.Name(), p)
		}
	}()
	if err = v.Validate(ctx, review); err != nil {
		err = fmt.Errorf("%s: %w", v.Name(), err)
	}
	return err
}
