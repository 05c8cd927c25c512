// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package preserve

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Annotation is where the parts travel, for every kind whose contract names no other. Conversion writes and
// reads.
const Annotation = "internal.kruise.io/conversion-data"

// object is a pointer to an API object of type T.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
}

// Way is one direction of a conversion.
type Way[From, To any] struct {
	// Forth converts as far as the versions are alike, Back the other way. Both may share memory with what
	// they convert, and must not write to it.
	Forth func(in *From, out *To) error
	Back  func(in *To, out *From) error
	// Here is the annotation of the From object that holds what the To version alone can say; There is the
	// one of the To object. Both default to Annotation.
	Here, There string
	// Derived are annotations that conversion itself writes; what becomes of them is not kept.
	Derived []string
}

// Through converts in to out, gives out what an earlier conversion kept for it, and keeps for the way back
// what out cannot say. It does not write to in. An error means that out must not be stored.
func Through[From, To any, In object[From], Out object[To]](way Way[From, To], in *From, out *To) error {
	if err := way.Forth(in, out); err != nil {
		return err
	}
	here, there := orDefault(way.Here), orDefault(way.There)
	target := Out(out)
	target.SetAnnotations(Without(target.GetAnnotations(), here, there))
	if text, found := In(in).GetAnnotations()[here]; found {
		if err := give[To, Out](text, out); err != nil {
			return err
		}
	}
	full, back := *in, new(From)
	if err := way.Back(out, back); err != nil {
		return err
	}
	ours := append([]string{here, there}, way.Derived...)
	for _, o := range []In{&full, back} {
		o.SetAnnotations(Without(o.GetAnnotations(), ours...))
		o.GetObjectKind().SetGroupVersionKind(In(in).GetObjectKind().GroupVersionKind())
	}
	if equality.Semantic.DeepEqual(&full, back) {
		return nil
	}
	text, err := lost(In(back), In(&full))
	if err != nil || text == "" {
		return err
	}
	annotations, err := fitting(target.GetAnnotations(), there, text)
	target.SetAnnotations(annotations)
	return err
}

// lost returns the record of what differs between the object that would come back and the full one; nothing
// when both read the same.
func lost(back, full runtime.Object) (string, error) {
	base, err := treeOf(back)
	if err != nil {
		return "", err
	}
	want, err := treeOf(full)
	if err != nil {
		return "", err
	}
	prunedBase, prunedFull := differences(base, want)
	if len(prunedBase) == 0 && len(prunedFull) == 0 {
		return "", nil
	}
	return encode(record{Base: prunedBase, Full: prunedFull})
}

// give puts what was kept into an object. A record that cannot be understood gives nothing.
func give[T any, P object[T]](text string, out *T) error {
	kept, err := decode(text)
	if err != nil {
		return err
	}
	if kept == nil {
		return nil
	}
	tree, err := treeOf(P(out))
	if err != nil {
		return err
	}
	filled := P(new(T))
	merged := mergeMaps(kept.Base, kept.Full, tree)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(merged, filled) != nil {
		return nil // somebody wrote it by hand
	}
	filled.GetObjectKind().SetGroupVersionKind(P(out).GetObjectKind().GroupVersionKind())
	labels, annotations := orNil(filled.GetLabels()), orNil(filled.GetAnnotations())
	*filled.GetObjectMeta().(*metav1.ObjectMeta) = *P(out).GetObjectMeta().(*metav1.ObjectMeta)
	filled.SetLabels(labels)
	filled.SetAnnotations(annotations)
	*out = *filled
	return nil
}

// treeOf returns the parts of an object that conversion may change, as JSON has them.
func treeOf(obj runtime.Object) (map[string]any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	metadata, _ := tree["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		kept[name] = map[string]any{} // both objects have one, so that entries are compared one by one
		if value, found := metadata[name].(map[string]any); found {
			kept[name] = value
		}
	}
	tree["metadata"] = kept
	delete(tree, "apiVersion")
	delete(tree, "kind")
	return tree, nil
}

func orDefault(annotation string) string {
	if annotation == "" {
		return Annotation
	}
	return annotation
}

func orNil(entries map[string]string) map[string]string {
	if len(entries) == 0 {
		return nil
	}
	return entries
}
