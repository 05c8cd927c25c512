// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Whatever the API server says about a Secret, nothing of it that may be content is told.
func TestTellable(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	webhook := apierrors.NewForbidden(secrets, "s", errors.New("hunter2"))
	webhook.ErrStatus.Message = `admission webhook "w.example.com" denied the request: hunter2`
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "s", field.ErrorList{field.Invalid(field.NewPath("data"), "hunter2", "no")})
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"quota":          {apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: few, hunter2")), "Forbidden, for want of quota"},
		"policy":         {apierrors.NewForbidden(secrets, "s", errors.New("ValidatingAdmissionPolicy 'p' denied request: hunter2")), "Forbidden, by a ValidatingAdmissionPolicy"},
		"webhook":        {webhook, "Forbidden, by an admission webhook"},
		"invalid":        {invalid, "Invalid"},
		"no answer":      {errors.New("read hunter2: connection reset"), "no answer"},
		"wrapped":        {fmt.Errorf("hunter2: %w", invalid), "Invalid"},
		"rights missing": {apierrors.NewForbidden(secrets, "s", errors.New(`User "u" cannot create resource "secrets" in API group "" in the namespace "ns"`)), "apply kustomize/distribution"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tellable("Secret", "ns", tc.err).Error()
			if !strings.Contains(got, tc.want) || strings.Contains(got, "hunter2") || !strings.Contains(got, "namespace ns") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := tellable("ConfigMap", "ns", invalid); !errors.Is(got, invalid) {
		t.Errorf("of a ConfigMap: %v", got)
	}
}
