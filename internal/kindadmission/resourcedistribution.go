// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package kindadmission

import (
	"bytes"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// tried adds to rules what the API server says of the resource of an object: that it cannot be created makes the
// object invalid. It is asked where the rules have no complaint and the resource is not as it was.
func tried[T client.Object](f Facts, resource func(obj T) runtime.RawExtension, rules webhookserver.Rules[T]) webhookserver.Rules[T] {
	return func(ctx context.Context, old, obj T) (admission.Warnings, field.ErrorList, error) {
		warnings, problems, err := rules(ctx, old, obj)
		raw := resource(obj).Raw
		if err != nil || len(problems) > 0 || f.Member == nil || !isNil(old) && bytes.Equal(resource(old).Raw, raw) {
			return warnings, problems, err
		}
		problems, err = f.creatable(ctx, raw)
		return warnings, problems, err
	}
}

func (f Facts) creatable(ctx context.Context, raw []byte) (field.ErrorList, error) {
	path := field.NewPath("spec", "resource")
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return field.ErrorList{field.Invalid(path, "", "must be an object: "+err.Error())}, nil
	}
	switch err := f.Member.TryOut(ctx, object); {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil, nil
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return field.ErrorList{field.Invalid(path, object.GetName(), "cannot be created: "+err.Error())}, nil
	case apierrors.IsForbidden(err):
		return field.ErrorList{field.Forbidden(path, "cannot be created: "+err.Error())}, nil
	default:
		return nil, err
	}
}
