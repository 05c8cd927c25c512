// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"
)

// mostWarnings about an object and mostPathBytes of each keep all that is said of it below the 4096 bytes that
// the API server passes on.
const (
	mostWarnings  = 10
	mostPathBytes = 200
)

// unknownFields names fields below spec of the object asked about that its type does not have, when the object
// is new or its spec changed. The API server takes such fields out, or speaks of them itself, but where a schema
// keeps everything, as in pod templates. They may be of a newer Kubernetes: they are warned of, never refused.
func unknownFields[T client.Object](ctx context.Context, obj T) admission.Warnings {
	req, err := admission.RequestFromContext(ctx)
	if err != nil || len(req.Object.Raw) == 0 || specEqual(req.OldObject.Raw, req.Object.Raw) {
		return nil
	}
	decoded := reflect.New(reflect.TypeOf(obj).Elem()).Interface()
	unknown, err := kjson.UnmarshalStrict(req.Object.Raw, decoded, kjson.DisallowUnknownFields)
	if err != nil {
		return nil // it was decoded before
	}
	var out admission.Warnings
	more := 0
	for _, problem := range unknown {
		var at kjson.FieldError
		switch {
		case !errors.As(problem, &at) || !strings.HasPrefix(at.FieldPath(), "spec."):
		case len(out) < mostWarnings:
			out = append(out, fmt.Sprintf("unknown field %q", shortened(at.FieldPath())))
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more unknown fields", more))
	}
	return out
}

// specEqual says whether two objects have the same spec. The API server writes fields in order.
func specEqual(old, obj []byte) bool {
	type withSpec struct {
		Spec json.RawMessage `json:"spec"`
	}
	var was, is withSpec
	return len(old) > 0 && json.Unmarshal(old, &was) == nil && json.Unmarshal(obj, &is) == nil && bytes.Equal(was.Spec, is.Spec)
}

// shortened keeps the end of a path, which names the field.
func shortened(path string) string {
	if len(path) <= mostPathBytes {
		return path
	}
	return "…" + strings.ToValidUTF8(path[len(path)-mostPathBytes:], "")
}
