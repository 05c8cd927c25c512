// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Path is where CustomResourceDefinitions look for the handler.
const Path = "/convert"

// Handler answers ConversionReviews by the conversion functions registered in scheme. Versions that
// cannot be converted into each other are answered with a failure that names both.
func Handler(scheme *runtime.Scheme) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log := logf.FromContext(r.Context()).WithName("conversion")
		review := apiextensionsv1.ConversionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "the body must be a ConversionReview with a request", http.StatusBadRequest)
			return
		}
		response := answer(scheme, review.Request)
		if response.Result.Status != metav1.StatusSuccess {
			log.Info("could not convert", "desired", review.Request.DesiredAPIVersion, "why", response.Result.Message)
		}
		review.Request, review.Response = nil, response
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			log.Error(err, "could not answer")
		}
	})
}

// answer converts every object of a request, or says why one cannot be.
func answer(scheme *runtime.Scheme, request *apiextensionsv1.ConversionRequest) *apiextensionsv1.ConversionResponse {
	response := &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, object := range request.Objects {
		converted, err := Object(scheme, object.Raw, request.DesiredAPIVersion)
		if err != nil {
			response.ConvertedObjects = nil
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			return response
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	return response
}

// Object converts an object in JSON to another version of its group, given as group/version. A conversion that
// panics is an error of that object.
func Object(scheme *runtime.Scheme, raw []byte, version string) (converted []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			logf.Log.WithName("conversion").Error(nil, "panic", "desired", version, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("converting to %s: panic: %v", version, p)
		}
	}()
	return toVersion(scheme, raw, version)
}

// read reads an object. Where that fails it may be for a part that has no schema, stored while no webhook looked: such
// parts are handed on as they are, so the rest is read without them, and the object goes on to be listed with others.
func read(raw []byte, from map[string]any, into runtime.Object) error {
	problem := utiljson.Unmarshal(raw, into)
	if problem == nil {
		return nil
	}
	rest := runtime.DeepCopyJSON(from)
	apiVersion, _ := from["apiVersion"].(string)
	kind, _ := from["kind"].(string)
	for _, path := range verbatim[schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()] {
		unstructured.RemoveNestedField(rest, path...)
	}
	without, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if utiljson.Unmarshal(without, into) != nil {
		return problem
	}
	return nil
}

func toVersion(scheme *runtime.Scheme, raw []byte, version string) ([]byte, error) {
	from := map[string]any{}
	if err := utiljson.Unmarshal(raw, &from); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	apiVersion, _ := from["apiVersion"].(string)
	kind, _ := from["kind"].(string)
	source, target := schema.FromAPIVersionAndKind(apiVersion, kind), schema.FromAPIVersionAndKind(version, kind)
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("converting a %s of %s to %s: %w", kind, apiVersion, version, err)
	}
	in, err := scheme.New(source)
	if err != nil {
		return fail(err)
	}
	out, err := scheme.New(target)
	if err != nil {
		return fail(err)
	}
	if err := read(raw, from, in); err != nil {
		return fail(err)
	}
	if err := scheme.Convert(in, out, nil); err != nil {
		return fail(err)
	}
	out.GetObjectKind().SetGroupVersionKind(target)
	to, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		return fail(err)
	}
	if err := handOn(target.GroupKind(), from, to); err != nil {
		return fail(err)
	}
	return json.Marshal(to)
}
