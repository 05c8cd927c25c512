// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tellable is what may be told of an answer to a request about a copy. About Secrets that is in our own words: the API
// server, and whoever has a say in admission, may quote what they refuse.
func tellable(kind, namespace string, err error) error {
	switch {
	case missesRight(err):
		return fmt.Errorf("flotilla-spoke has no right to do this to %ss in namespace %s: apply kustomize/distribution", kind, namespace)
	case kind != "Secret":
		return err
	}
	why := "no answer"
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		why = string(reason)
	}
	switch said := err.Error(); {
	case strings.HasPrefix(said, "admission webhook "):
		why += ", by an admission webhook"
	case strings.Contains(said, "ValidatingAdmissionPolicy"):
		why += ", by a ValidatingAdmissionPolicy"
	case apierrors.IsForbidden(err) && strings.Contains(said, "exceeded quota"):
		why += ", for want of quota"
	}
	return errors.New("Secret in namespace " + namespace + ": " + why + " (what the API server says is not shown, it may quote the content)")
}

// missesRight tells whether rights are missing: so the API server words no other refusal.
func missesRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `" cannot `) && strings.Contains(err.Error(), ` in API group "`)
}
