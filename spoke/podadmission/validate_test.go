// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podadmission

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type check func(*Review) error

func (check) Name() string                                  { return "check" }
func (c check) Validate(_ context.Context, r *Review) error { return c(r) }

func TestValidatingHandle(t *testing.T) {
	pass := check(func(*Review) error { return nil })
	denies := check(func(*Review) error { return &Denial{"not now"} })
	fails := check(func(*Review) error { return errors.New("no idea") })
	panics := check(func(r *Review) error { r.Updated.Spec.Containers[7].Name = ""; return nil })
	for name, tc := range map[string]struct {
		steps []Validator
		code  int32
	}{
		"no step":          {nil, 200},
		"passes":           {[]Validator{pass}, 200},
		"denied":           {[]Validator{pass, denies, panics}, 403},
		"fails":            {[]Validator{pass, fails}, 400},
		"panics":           {[]Validator{panics}, 400},
		"first come first": {[]Validator{fails, denies}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			h := &ValidatingHandler{Decoder: admission.NewDecoder(clientgoscheme.Scheme), Validators: tc.steps}
			res := h.Handle(t.Context(), about(admissionv1.Update, "", `{"metadata":{"name":"p"}}`, `{"metadata":{"name":"p"}}`))
			if res.Allowed != (tc.code == 200) || res.Result.Code != tc.code {
				t.Errorf("%+v", res.Result)
			}
		})
	}
}

func about(operation admissionv1.Operation, subresource, obj, old string) admission.Request {
	req := admissionv1.AdmissionRequest{Operation: operation, SubResource: subresource, Namespace: "ns", Name: "p", Object: runtime.RawExtension{Raw: []byte(obj)}}
	if old != "" {
		req.OldObject.Raw = []byte(old)
	}
	req.UserInfo.Username = "jo"
	return admission.Request{AdmissionRequest: req}
}

// What the validators are asked about each kind of request.
func TestReviews(t *testing.T) {
	here := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "here"}}
	newer := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "newer"}}
	seen, nothing := fake.NewClientBuilder().WithObjects(here).Build(), fake.NewClientBuilder().Build()
	live := fake.NewClientBuilder().WithObjects(newer).Build()
	dry := func(req admission.Request) admission.Request { req.DryRun = ptr.To(true); return req }
	old, updated := `{"metadata":{"uid":"old"}}`, `{"metadata":{"uid":"new"}}`
	for name, tc := range map[string]struct {
		h    ValidatingHandler
		req  admission.Request
		want string
	}{
		"update":               {ValidatingHandler{}, about(admissionv1.Update, "", updated, old), "UPDATE old new false jo"},
		"resize":               {ValidatingHandler{}, about(admissionv1.Update, "resize", updated, old), "UPDATE old new false jo"},
		"status":               {ValidatingHandler{}, about(admissionv1.Update, "status", updated, old), ""},
		"deletion":             {ValidatingHandler{}, about(admissionv1.Delete, "", "", old), "DELETE old - false jo"},
		"deletion, dry":        {ValidatingHandler{}, dry(about(admissionv1.Delete, "", "", old)), "DELETE old - true jo"},
		"deletion of nothing":  {ValidatingHandler{}, about(admissionv1.Delete, "", "", ""), ""},
		"of a subresource":     {ValidatingHandler{}, about(admissionv1.Delete, "x", "", old), ""},
		"creation":             {ValidatingHandler{}, about(admissionv1.Create, "", updated, ""), ""},
		"binding":              {ValidatingHandler{}, about(admissionv1.Create, "binding", updated, ""), ""},
		"eviction":             {ValidatingHandler{Seen: seen}, about(admissionv1.Create, "eviction", `{}`, ""), "EVICT here - false jo"},
		"eviction, dry":        {ValidatingHandler{Seen: seen}, dry(about(admissionv1.Create, "eviction", `{}`, "")), "EVICT here - true jo"},
		"eviction, asked dry":  {ValidatingHandler{Seen: seen}, about(admissionv1.Create, "eviction", `{"deleteOptions":{"dryRun":["All"]}}`, ""), "EVICT here - true jo"},
		"eviction, not cached": {ValidatingHandler{Seen: nothing, Live: live}, about(admissionv1.Create, "eviction", `{}`, ""), "EVICT newer - false jo"},
		"eviction of nothing":  {ValidatingHandler{Seen: nothing, Live: nothing}, about(admissionv1.Create, "eviction", `{}`, ""), "EVICT  - false jo"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			tc.h.Decoder = admission.NewDecoder(clientgoscheme.Scheme)
			tc.h.Validators = []Validator{check(func(r *Review) error {
				after := "-"
				if r.Updated != nil {
					after = string(r.Updated.UID)
				}
				got = fmt.Sprint(r.Operation, " ", r.Pod.UID, " ", after, " ", r.DryRun, " ", r.User)
				return nil
			})}
			if res := tc.h.Handle(t.Context(), tc.req); !res.Allowed {
				t.Errorf("%+v", res.Result)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	h := &ValidatingHandler{Decoder: admission.NewDecoder(clientgoscheme.Scheme)}
	for _, req := range []admission.Request{
		about(admissionv1.Update, "", "{", old), about(admissionv1.Update, "", updated, "{"), about(admissionv1.Create, "eviction", "{", ""),
	} {
		if res := h.Handle(t.Context(), req); res.Allowed || res.Result.Code != 400 {
			t.Errorf("unreadable: %+v", res.Result)
		}
	}
}
