// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

const (
	// HeldAnnotation is on FleetSlices: the share of each subset, as JSON. Hub writes and reads.
	HeldAnnotation = "internal.fleet.kruise.io/held"
	// TermsAnnotation is on FleetSlices: the node selector term of each subset, as JSON. Hub writes
	// and reads.
	TermsAnnotation = "internal.fleet.kruise.io/terms"
	// RevisionSinceAnnotation is on FleetSlices: the generation after which the slice carries its
	// present revision. A status that observed a later generation speaks of that revision. Hub
	// writes and reads.
	RevisionSinceAnnotation = "internal.fleet.kruise.io/revision-since"

	// NeedsAnnotation is on FleetSlices: the ConfigMaps and Secrets that pods of the objects need, as a
	// JSON list of Kind/name. Hub writes and reads.
	NeedsAnnotation = "internal.fleet.kruise.io/needs"

	// digestAnnotation exists only in the cache: the digest of spec.objects, which the cache drops.
	digestAnnotation = "internal.fleet.kruise.io/objects-digest"
)

// MaxBytes is the largest size of a slice's objects together.
const MaxBytes = 500 << 10

// TooLargeError says that a share is too large for a slice.
type TooLargeError struct{ Bytes int }

// Error implements error.
func (e TooLargeError) Error() string {
	return fmt.Sprintf("the objects take %d bytes, a slice carries %d at the most", e.Bytes, MaxBytes)
}

// Desired is what a slice should be.
type Desired struct {
	// Cluster whose namespace the slice is in.
	Cluster string
	// Name of the slice, by Name.
	Name string
	// Placement is the uid of the FleetPlacement; "" of what is needed by others (Store.Needing).
	Placement types.UID
	// Held is the share of each subset, and Terms its node selector term.
	Held  map[string]int32
	Terms map[string]corev1.NodeSelectorTerm
	// Needs lists the ConfigMaps and Secrets of the source's namespace that pods need, as Kind/name.
	Needs []string
	// Spec of the slice. Its objects are compact JSON with sorted keys, as json.Marshal makes it.
	Spec fleetv1alpha1.FleetSliceSpec
}

// Transform makes a FleetSlice small before the cache takes it in: no managed fields, and a digest
// instead of the objects.
func Transform(obj any) (any, error) {
	obj, err := cache.TransformStripManagedFields()(obj)
	s, ok := obj.(*fleetv1alpha1.FleetSlice)
	if err != nil || !ok || s.Spec.Objects == nil {
		return obj, err
	}
	sum, err := digestStored(s.Spec.Objects)
	if err != nil {
		sum = "unreadable: " + err.Error() // never equal, so it is written anew
	}
	s.Spec.Objects = nil
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[digestAnnotation] = sum
	return s, nil
}

// digestStored digests objects as an API server returns them.
func digestStored(list []runtime.RawExtension) (string, error) {
	canonical := make([]runtime.RawExtension, len(list))
	for i := range list {
		decoder := json.NewDecoder(bytes.NewReader(list[i].Raw))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			return "", err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		canonical[i].Raw = data
	}
	return digest(canonical), nil
}

func digest(list []runtime.RawExtension) string {
	h := sha256.New()
	for _, o := range list {
		_, _ = h.Write(o.Raw) // a hash never fails to write
		_, _ = h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// same tells whether a cached slice already is as desired.
func same(live *fleetv1alpha1.FleetSlice, d Desired) bool {
	if live.Annotations[digestAnnotation] != digest(d.Spec.Objects) {
		return false
	}
	if live.Annotations[HeldAnnotation] != text(d.Held) || live.Annotations[TermsAnnotation] != text(d.Terms) || live.Annotations[NeedsAnnotation] != listed(d.Needs) {
		return false
	}
	if live.Labels[fleetv1alpha1.SourceUIDLabel] != string(d.Spec.Source.UID) || live.Labels[fleetv1alpha1.PlacementUIDLabel] != string(d.Placement) {
		return false
	}
	if !slices.Contains(live.Finalizers, fleetv1alpha1.SliceFinalizer) {
		return false
	}
	a, b := live.Spec, d.Spec
	a.Objects, b.Objects = nil, nil
	a.Source.Generation, b.Source.Generation = 0, 0
	return apiequality.Semantic.DeepEqual(a, b)
}

// text is a map as JSON; "" when it is empty.
func text[V any](m map[string]V) string {
	if len(m) == 0 {
		return ""
	}
	data, _ := json.Marshal(m) // numbers and terms always marshal
	return string(data)
}

// listed is a list as JSON; "" when it is empty.
func listed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	data, _ := json.Marshal(list) // texts always marshal
	return string(data)
}

// Needs returns what the slice was written with.
func Needs(s *fleetv1alpha1.FleetSlice) []string {
	var out []string
	if json.Unmarshal([]byte(s.Annotations[NeedsAnnotation]), &out) != nil {
		return nil
	}
	return out
}

// Terms returns the node selector term of each subset that the slice was written with.
func Terms(s *fleetv1alpha1.FleetSlice) map[string]corev1.NodeSelectorTerm {
	out := map[string]corev1.NodeSelectorTerm{}
	if json.Unmarshal([]byte(s.Annotations[TermsAnnotation]), &out) != nil {
		return nil // not ours: terms are made anew
	}
	return out
}

// Held returns the share of each subset that the slice was written with.
func Held(s *fleetv1alpha1.FleetSlice) map[string]int32 {
	held := map[string]int32{}
	if json.Unmarshal([]byte(s.Annotations[HeldAnnotation]), &held) == nil && held != nil {
		return held
	}
	held = make(map[string]int32, len(s.Spec.Split))
	for _, part := range s.Spec.Split {
		held[part.Subset] = part.Replicas
	}
	return held
}

// revisionSince is the annotation for a slice about to be written.
func revisionSince(live *fleetv1alpha1.FleetSlice, revision string) string {
	switch {
	case live == nil:
		return "0"
	case live.Spec.Source.Revision != revision || live.Annotations[RevisionSinceAnnotation] == "":
		return strconv.FormatInt(live.Generation, 10)
	default:
		return live.Annotations[RevisionSinceAnnotation]
	}
}
