// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Defaulting is an admission webhook that fills in defaults. fill gets the object as it is stored,
// nil at creation, and the object to change.
func Defaulting[T client.Object](scheme *runtime.Scheme, fill func(old, obj T)) *admission.Webhook {
	return Completing(scheme, func(_ context.Context, old, obj T) error {
		fill(old, obj)
		return nil
	})
}

// Completing is Defaulting for what has to be looked up. The object is refused where fill returns an error;
// an error of the API says why.
func Completing[T client.Object](scheme *runtime.Scheme, fill func(ctx context.Context, old, obj T) error) *admission.Webhook {
	return admission.WithDefaulter[T](scheme, defaulter[T]{admission.NewDecoder(scheme), fill})
}

type defaulter[T client.Object] struct {
	decoder admission.Decoder
	fill    func(ctx context.Context, old, obj T) error
}

func (d defaulter[T]) Default(ctx context.Context, obj T) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil // finalizers must come off: what is filled in could make the schema look at an old mistake again
	}
	var old T
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if len(req.OldObject.Raw) > 0 {
		// A new one: decoding into a copy of obj would leave in what the stored object does not have.
		old = reflect.New(reflect.TypeOf(obj).Elem()).Interface().(T)
		if err := d.decoder.DecodeRaw(req.OldObject, old); err != nil {
			return err
		}
	}
	return d.fill(ctx, old, obj)
}

// Rules check an object when it is created or updated. old is nil at creation. Warnings reach the user whether
// the object is refused or not. An error means the check itself could not be made. Deletions are not asked about:
// they must not wait for a webhook.
type Rules[T client.Object] func(ctx context.Context, old, obj T) (admission.Warnings, field.ErrorList, error)

// Validating is an admission webhook that refuses what the rules refuse, naming field and fix. Besides the rules'
// own warnings it warns of fields that the type does not have.
func Validating[T client.Object](scheme *runtime.Scheme, rules Rules[T]) *admission.Webhook {
	return admission.WithValidator[T](scheme, validator[T]{scheme, rules})
}

type validator[T client.Object] struct {
	scheme *runtime.Scheme
	rules  Rules[T]
}

func (v validator[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	var none T
	return v.check(ctx, none, obj)
}

func (v validator[T]) ValidateUpdate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil, nil // finalizers must come off whatever the spec says
	}
	return v.check(ctx, old, obj)
}

func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v validator[T]) check(ctx context.Context, old, obj T) (admission.Warnings, error) {
	warnings, problems, err := v.rules(ctx, old, obj)
	warnings = append(unknownFields(ctx, obj), warnings...)
	if err != nil || len(problems) == 0 {
		return warnings, err
	}
	kinds, _, err := v.scheme.ObjectKinds(obj)
	if err != nil {
		return warnings, err
	}
	return warnings, apierrors.NewInvalid(kinds[0].GroupKind(), obj.GetName(), problems)
}
