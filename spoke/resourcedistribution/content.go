// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcedistribution

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	"github.com/flotilla-sh/flotilla/internal/ownership"
)

const (
	// copyLabel marks copies, so that they alone are watched.
	copyLabel, copyMark = "flotilla.sh/distributed", "true"
	// digested is the operation of a managed field that only the cache has: its manager is the digest of the content. The
	// API server takes no such operation, so nobody can give an object a digest that is not its own.
	digested = metav1.ManagedFieldsOperationType("Digest")
)

var kind = v1beta1.SchemeGroupVersion.WithKind("ResourceDistribution")

// template is what copies are made of.
type template struct {
	// object is the Secret or ConfigMap with its metadata, which is the template's own.
	object client.Object
	// digest is of its content, hash of the bytes in the spec.
	digest, hash string
}

// empty returns an object of one of the two kinds that can be distributed.
func empty(of string) (client.Object, error) {
	switch of {
	case "Secret":
		return &corev1.Secret{}, nil
	case "ConfigMap":
		return &corev1.ConfigMap{}, nil
	default:
		return nil, fmt.Errorf("spec.resource: kind %q is neither Secret nor ConfigMap", of)
	}
}

// templateOf reads spec.resource. No error says what is in it.
func templateOf(rd *v1beta1.ResourceDistribution) (*template, error) {
	fields := map[string]any{}
	if json.Unmarshal(rd.Spec.Resource.Raw, &fields) != nil {
		return nil, errors.New("spec.resource is no object")
	}
	if version, _ := fields["apiVersion"].(string); version != "v1" {
		return nil, errors.New("spec.resource.apiVersion is not v1")
	}
	named, _ := fields["kind"].(string)
	obj, err := empty(named)
	if err != nil {
		return nil, err
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, obj) != nil {
		return nil, fmt.Errorf("spec.resource has a field that no %s has like that", named)
	}
	if obj.GetName() == "" {
		return nil, errors.New("spec.resource.metadata.name is missing")
	}
	hash := sha256.Sum256(rd.Spec.Resource.Raw)
	return &template{object: obj, digest: digestOf(obj), hash: hex.EncodeToString(hash[:])}, nil
}

// digestOf is equal for objects of equal content: all but their metadata, as the API server stores it.
func digestOf(obj client.Object) string {
	var content any
	switch o := obj.(type) {
	case *corev1.Secret:
		content = corev1.Secret{Data: dataOf(o), Type: typeOf(o), Immutable: o.Immutable}
	case *corev1.ConfigMap:
		content = corev1.ConfigMap{Data: o.Data, BinaryData: o.BinaryData, Immutable: o.Immutable}
	}
	raw, err := json.Marshal(content)
	if err != nil { // maps of bytes and strings always can
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// dataOf is the data with stringData in it.
func dataOf(s *corev1.Secret) map[string][]byte {
	if len(s.StringData) == 0 {
		return s.Data
	}
	out := maps.Clone(s.Data)
	if out == nil {
		out = map[string][]byte{}
	}
	for k, v := range s.StringData {
		out[k] = []byte(v)
	}
	return out
}

func typeOf(s *corev1.Secret) corev1.SecretType {
	if s.Type == "" {
		return corev1.SecretTypeOpaque
	}
	return s.Type
}

// strip is what the cache keeps of a copy: its metadata, and the digest in place of the content. What is stripped stays
// as it is: lists that are watched pass here twice.
func strip(in any) (any, error) {
	obj, ok := in.(client.Object)
	if !ok || keptDigest(obj) != "" {
		return in, nil
	}
	digest := digestOf(obj)
	switch o := obj.(type) {
	case *corev1.Secret:
		o.Data, o.StringData = nil, nil
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	default:
		return in, nil
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: digest, Operation: digested}})
	// Others may be long, and nobody reads them; one of them may have the content in it.
	obj.SetAnnotations(map[string]string{v1beta1.ResourceHashKey: obj.GetAnnotations()[v1beta1.ResourceHashKey]})
	return obj, nil
}

// keptDigest is the digest that the cache has of an object; of an object that is not the cache's it is empty.
func keptDigest(obj client.Object) string {
	if fields := obj.GetManagedFields(); len(fields) == 1 && fields[0].Operation == digested {
		return fields[0].Manager
	}
	return ""
}

// made is a new copy for a namespace.
func (t *template) made(rd *v1beta1.ResourceDistribution, namespace string) (client.Object, error) {
	out, err := empty(kindOf(t.object))
	if err != nil {
		return nil, err
	}
	out.SetName(t.object.GetName())
	out.SetNamespace(namespace)
	t.onto(rd, out)
	return out, nil
}

// onto makes of an object what the copy should be. Labels, annotations and finalizers that others gave it stay.
func (t *template) onto(rd *v1beta1.ResourceDistribution, out client.Object) {
	out.SetLabels(over(out.GetLabels(), t.object.GetLabels(), map[string]string{copyLabel: copyMark}))
	out.SetAnnotations(over(out.GetAnnotations(), t.object.GetAnnotations(), map[string]string{
		v1beta1.ResourceHashKey: t.hash, v1beta1.ResourceSourceKey: rd.Name,
	}))
	finalizers := out.GetFinalizers()
	for _, f := range t.object.GetFinalizers() {
		if !slices.Contains(finalizers, f) {
			finalizers = append(finalizers, f)
		}
	}
	out.SetFinalizers(finalizers)
	out.SetOwnerReferences(append(owners(t.object, rd), *metav1.NewControllerRef(rd, kind)))
	switch o := out.(type) {
	case *corev1.Secret:
		from := t.object.DeepCopyObject().(*corev1.Secret) //nolint:forcetypeassert // both are of the template's kind
		o.Data, o.StringData, o.Type, o.Immutable = dataOf(from), nil, typeOf(from), from.Immutable
	case *corev1.ConfigMap:
		from := t.object.DeepCopyObject().(*corev1.ConfigMap) //nolint:forcetypeassert // both are of the template's kind
		o.Data, o.BinaryData, o.Immutable = from.Data, from.BinaryData, from.Immutable
	}
}

// owners are those that the template names beside us. None of them controls the copy: that are we.
func owners(obj client.Object, rd *v1beta1.ResourceDistribution) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	for _, ref := range obj.GetOwnerReferences() {
		if ref.UID != rd.UID {
			ref.Controller = nil
			out = append(out, ref)
		}
	}
	return out
}

func over(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, layer := range layers {
		maps.Copy(out, layer)
	}
	return out
}

func kindOf(obj client.Object) string {
	if _, secret := obj.(*corev1.Secret); secret {
		return "Secret"
	}
	return "ConfigMap"
}

// isOurs tells whether the ResourceDistribution controls an object.
func isOurs(obj metav1.Object, rd *v1beta1.ResourceDistribution) bool {
	ref := ownership.ControllerOf(obj, schema.GroupKind{Group: kind.Group, Kind: kind.Kind})
	if ref == nil {
		return false
	}
	if ref.UID != "" && rd.UID != "" {
		return ref.UID == rd.UID
	}
	return ref.Name == rd.Name
}
