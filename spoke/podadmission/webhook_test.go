// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package podadmission

import (
	"context"
	"errors"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type step func(*corev1.Pod) (bool, error)

func (step) Name() string { return "step" }
func (s step) Mutate(_ context.Context, pod *corev1.Pod) (bool, error) {
	return s(pod)
}

func TestHandle(t *testing.T) {
	label := func(k string) Mutator {
		return step(func(p *corev1.Pod) (bool, error) {
			if p.Labels == nil {
				p.Labels = map[string]string{}
			}
			p.Labels[k] = p.Namespace
			return true, nil
		})
	}
	nothing := step(func(*corev1.Pod) (bool, error) { return false, nil })
	fails := step(func(*corev1.Pod) (bool, error) { return false, errors.New("no") })
	panics := step(func(p *corev1.Pod) (bool, error) { return p.Spec.Containers[7].Name == "", nil })
	for name, tc := range map[string]struct {
		raw     string
		steps   []Mutator
		allowed bool
		patches int
		code    int32
	}{
		"no step":    {`{"metadata":{"name":"p"}}`, nil, true, 0, 0},
		"unchanged":  {`{"metadata":{"name":"p"}}`, []Mutator{nothing}, true, 0, 0},
		"changed":    {`{"metadata":{"name":"p"}}`, []Mutator{nothing, label("a"), label("b")}, true, 1, 0},
		"failed":     {`{"metadata":{"name":"p"}}`, []Mutator{label("a"), fails}, false, 0, http.StatusInternalServerError},
		"panic":      {`{"metadata":{"name":"p"}}`, []Mutator{panics}, false, 0, http.StatusInternalServerError},
		"unreadable": {`{`, nil, false, 0, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			h := &Handler{Decoder: admission.NewDecoder(clientgoscheme.Scheme), Mutators: tc.steps}
			res := h.Handle(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Namespace: "ns", Object: runtime.RawExtension{Raw: []byte(tc.raw)},
			}})
			if res.Allowed != tc.allowed || len(res.Patches) != tc.patches {
				t.Errorf("allowed %v with %v: %v", res.Allowed, res.Patches, res.Result)
			}
			if !tc.allowed && res.Result.Code != tc.code {
				t.Errorf("refused with %+v, want %d", res.Result, tc.code)
			}
		})
	}
}
