// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// Path is where CustomResourceDefinitions look for the handler.
const Path = "/convert"

// Handler answers ConversionReviews by the conversion functions registered in scheme. A pair of
// versions without one is answered with an error that names both.
func Handler(scheme *runtime.Scheme) http.Handler {
	return conversion.NewWebhookHandler(scheme, schemeRegistry{scheme})
}

// schemeRegistry hands out one converter for every kind: the scheme.
type schemeRegistry struct{ scheme *runtime.Scheme }

func (r schemeRegistry) GetConverter(schema.GroupKind) (conversion.Converter, bool) { return r, true }

func (r schemeRegistry) RegisterConverter(schema.GroupKind, conversion.Converter) error {
	return errors.New("register conversion functions in the scheme instead")
}

// ConvertObject fills dst, which carries its version and kind already, from src.
func (r schemeRegistry) ConvertObject(_ context.Context, src, dst runtime.Object) error {
	return r.scheme.Convert(src, dst, nil)
}
