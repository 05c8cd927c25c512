// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package slice

import (
	stdcmp "cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func TestName(t *testing.T) {
	ours := schema.GroupKind{Group: "apps.kruise.io", Kind: "UnitedDeployment"}
	for name, tc := range map[string]struct {
		gk        schema.GroupKind
		namespace string
		name      string
		want      string
	}{
		"ours":           {ours, "shop", "web", "uniteddeployment.shop.web"},
		"core":           {schema.GroupKind{Kind: "ConfigMap"}, "shop", "web", "configmap.shop.web"},
		"cluster-scoped": {schema.GroupKind{Kind: "Namespace"}, "", "web", "namespace.web"},
		"built in":       {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "shop", "web", "deployment.shop.web"},
		"as ours":        {schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "shop", "web", "statefulset-d3acce8d.shop.web"},
		"long":           {ours, "shop", strings.Repeat("a", 60), "uniteddeployment.shop." + strings.Repeat("a", 32) + "-b0fdf91d"},
		"cut at a dot":   {ours, "shop", strings.Repeat("a", 31) + "." + strings.Repeat("b", 60), "uniteddeployment.shop." + strings.Repeat("a", 31) + "-ed7ff2b4"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Name(tc.gk, tc.namespace, tc.name)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if errs := append(validation.IsDNS1123Subdomain(got), validation.IsValidLabelValue(got)...); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
	if a, b := Name(ours, "a", strings.Repeat("x", 70)), Name(ours, "a", strings.Repeat("x", 71)); a == b {
		t.Error("two long names collide")
	}
}

func desired() Desired {
	return Desired{
		Cluster: "m1", Name: "n", Placement: "p", Held: map[string]int32{"a": 3}, Terms: map[string]corev1.NodeSelectorTerm{"a": {}},
		Spec: fleetv1alpha1.FleetSliceSpec{
			Source:  fleetv1alpha1.SliceSource{Kind: "K", UID: "s", Generation: 4, Revision: "r"},
			Objects: []runtime.RawExtension{{Raw: []byte(`{"a":"\u003c","n":9007199254740993,"x":1.5}`)}},
			Split:   []fleetv1alpha1.SubsetReplicas{{Subset: "a", Replicas: 3}},
		},
	}
}

// cached is a slice as the API server returns it and the cache keeps it.
func cached(t *testing.T, d Desired, raw string) *fleetv1alpha1.FleetSlice {
	t.Helper()
	s := &fleetv1alpha1.FleetSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name, Namespace: d.Cluster, Generation: 9, Finalizers: []string{fleetv1alpha1.SliceFinalizer},
			Labels:        map[string]string{fleetv1alpha1.SourceUIDLabel: "s", fleetv1alpha1.PlacementUIDLabel: "p"},
			Annotations:   map[string]string{HeldAnnotation: text(d.Held), TermsAnnotation: text(d.Terms)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
		},
		Spec: *d.Spec.DeepCopy(),
	}
	s.Spec.Objects = []runtime.RawExtension{{Raw: []byte(raw)}}
	out, err := Transform(s)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*fleetv1alpha1.FleetSlice)
}

func TestSame(t *testing.T) {
	const stored = `{"x": 1.5, "n": 9007199254740993, "a": "<"}`
	for name, tc := range map[string]struct {
		stored string
		live   func(*fleetv1alpha1.FleetSlice)
		want   bool
	}{
		"equal":              {stored, func(*fleetv1alpha1.FleetSlice) {}, true},
		"source generation":  {stored, func(s *fleetv1alpha1.FleetSlice) { s.Spec.Source.Generation = 3 }, true},
		"empty is no change": {stored, func(s *fleetv1alpha1.FleetSlice) { s.Spec.Partitions = []fleetv1alpha1.SubsetPartition{} }, true},
		"another object":     {`{"x": 2, "n": 9007199254740993, "a": "<"}`, func(*fleetv1alpha1.FleetSlice) {}, false},
		"large number":       {`{"x": 1.5, "n": 9007199254740992, "a": "<"}`, func(*fleetv1alpha1.FleetSlice) {}, false},
		"revision":           {stored, func(s *fleetv1alpha1.FleetSlice) { s.Spec.Source.Revision = "q" }, false},
		"split":              {stored, func(s *fleetv1alpha1.FleetSlice) { s.Spec.Split[0].Replicas = 4 }, false},
		"shares":             {stored, func(s *fleetv1alpha1.FleetSlice) { s.Annotations[HeldAnnotation] = "{}" }, false},
		"terms":              {stored, func(s *fleetv1alpha1.FleetSlice) { delete(s.Annotations, TermsAnnotation) }, false},
		"label":              {stored, func(s *fleetv1alpha1.FleetSlice) { delete(s.Labels, fleetv1alpha1.PlacementUIDLabel) }, false},
		"finalizer":          {stored, func(s *fleetv1alpha1.FleetSlice) { s.Finalizers = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			live := cached(t, desired(), tc.stored)
			if live.Spec.Objects != nil || live.ManagedFields != nil {
				t.Error("the cache keeps objects or managed fields")
			}
			tc.live(live)
			if got := same(live, desired()); got != tc.want {
				t.Errorf("same = %v", got)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	large, going := desired(), desired()
	large.Spec.Objects = []runtime.RawExtension{{Raw: []byte(strings.Repeat("x", MaxBytes+1))}}
	going.Cluster = "m2"
	live := cached(t, going, "{}")
	now := metav1.Now()
	live.DeletionTimestamp = &now
	out := New(nil).Write(t.Context(), []Desired{large, going}, map[string]*fleetv1alpha1.FleetSlice{"m2": live})
	var tooLarge TooLargeError
	if !errors.As(out.Failed["m1"], &tooLarge) || tooLarge.Bytes != MaxBytes+1 || !errors.Is(out.Failed["m2"], ErrDeleting) || len(out.Written) > 0 {
		t.Errorf("%+v", out)
	}
}

func TestTransformLetsOthersPass(t *testing.T) {
	if got, err := Transform("x"); got != "x" || err != nil {
		t.Error(got, err)
	}
	s := &fleetv1alpha1.FleetSlice{Spec: fleetv1alpha1.FleetSliceSpec{Objects: []runtime.RawExtension{{Raw: []byte("{")}}}}
	if got, err := Transform(s); err != nil || same(got.(*fleetv1alpha1.FleetSlice), desired()) {
		t.Error("an unreadable object is taken for equal, or an error", err)
	}
}

func TestHeld(t *testing.T) {
	s := cached(t, desired(), "{}")
	if d := cmp.Diff(map[string]int32{"a": 3}, Held(s)); d != "" {
		t.Error(d)
	}
	for _, broken := range []string{"", "null", "x"} {
		s.Annotations[HeldAnnotation] = broken
		if d := cmp.Diff(map[string]int32{"a": 3}, Held(s)); d != "" {
			t.Errorf("%q: %s", broken, d)
		}
	}
}

func TestTerms(t *testing.T) {
	s := cached(t, desired(), "{}")
	if d := cmp.Diff(map[string]corev1.NodeSelectorTerm{"a": {}}, Terms(s)); d != "" {
		t.Error(d)
	}
	for _, broken := range []string{"", "x"} {
		s.Annotations[TermsAnnotation] = broken
		if got := Terms(s); len(got) != 0 {
			t.Errorf("%q: %v", broken, got)
		}
	}
}

func TestRevisionSince(t *testing.T) {
	live := cached(t, desired(), "{}")
	live.Annotations[RevisionSinceAnnotation] = "5"
	for name, tc := range map[string]struct {
		live     *fleetv1alpha1.FleetSlice
		revision string
		want     string
	}{"new": {nil, "r", "0"}, "kept": {live, "r", "5"}, "changed": {live, "q", "9"}} {
		if got := revisionSince(tc.live, tc.revision); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestRead(t *testing.T) {
	applied := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: fleetv1alpha1.SliceConditionApplied, Status: status, Reason: reason, Message: "m"}}
	}
	counters := fleetv1alpha1.SubsetCounters{Subset: "a", Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 2, UpdatedReadyReplicas: 1}
	old := counters
	old.UpdatedReplicas, old.UpdatedReadyReplicas = 0, 0
	for name, tc := range map[string]struct {
		since    string
		status   fleetv1alpha1.FleetSliceStatus
		state    fleetv1alpha1.ClusterState
		observed bool
		want     fleetv1alpha1.SubsetCounters
	}{
		"silent":                   {"0", fleetv1alpha1.FleetSliceStatus{}, "Pending", false, fleetv1alpha1.SubsetCounters{}},
		"applied":                  {"8", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, ObjectGeneration: 2, ObjectObservedGeneration: 2, Conditions: applied("True", "Applied")}, "Applied", true, counters},
		"controller is behind":     {"8", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, ObjectGeneration: 3, ObjectObservedGeneration: 2, Conditions: applied("True", "Applied")}, "Applied", false, old},
		"older revision":           {"8", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 8, ObjectGeneration: 2, ObjectObservedGeneration: 2, Conditions: applied("True", "Applied")}, "Pending", false, old},
		"same revision, old split": {"6", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 8, ObjectGeneration: 2, ObjectObservedGeneration: 2, Conditions: applied("True", "Applied")}, "Pending", false, counters},
		"revision not said":        {"", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, Conditions: applied("True", "Applied")}, "Applied", true, counters},
		"conflict":                 {"0", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, Conditions: applied("False", fleetv1alpha1.SliceReasonConflict)}, "Conflict", false, counters},
		"rejected":                 {"0", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, Conditions: applied("False", fleetv1alpha1.SliceReasonRejected)}, "Failed", false, counters},
		"retrying":                 {"0", fleetv1alpha1.FleetSliceStatus{ObservedGeneration: 9, Conditions: applied("False", fleetv1alpha1.SliceReasonRetrying)}, "Pending", false, counters},
	} {
		t.Run(name, func(t *testing.T) {
			s := cached(t, desired(), "{}")
			s.Status = tc.status
			s.Annotations[RevisionSinceAnnotation] = tc.since
			if name != "silent" {
				s.Status.Subsets = []fleetv1alpha1.SubsetCounters{counters}
			}
			got := Read(s)
			if got.State != tc.state || got.Observed != tc.observed || (got.Message == "") != (tc.state == "Applied") {
				t.Errorf("%+v", got)
			}
			if d := cmp.Diff(tc.want, got.Counters["a"]); d != "" {
				t.Error(d)
			}
		})
	}
	s := cached(t, desired(), "{}")
	now := metav1.Now()
	s.DeletionTimestamp = &now
	if got := Read(s); got.State != fleetv1alpha1.ClusterDeleting {
		t.Errorf("%+v", got)
	}
}

// requests notes what is sent, and changes nothing.
type requests struct {
	client.Client
	sent []string
	err  error
	// awaited tells that reads wait until the cache shows what was sent.
	awaited bool
}

func (r *requests) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	data, err := p.Data(o)
	r.awaited = r.awaited || !(&client.PatchOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency
	r.sent = append(r.sent, string(p.Type())+" "+o.GetNamespace()+"/"+o.GetName()+" "+string(data))
	return errors.Join(err, r.err)
}

func (r *requests) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	r.awaited = r.awaited || !options.DisableReadYourWritesConsistency
	r.sent = append(r.sent, "delete "+o.GetNamespace()+"/"+o.GetName()+" "+string(*options.Preconditions.UID))
	return r.err
}

func TestRemove(t *testing.T) {
	const patch, gone = "application/merge-patch+json m1/n ", "delete m1/n u"
	const orphan, cascade = fleetv1alpha1.DeletionOrphan, fleetv1alpha1.DeletionCascade
	for name, tc := range map[string]struct {
		going  bool
		policy fleetv1alpha1.DeletionPolicy
		epoch  int64
		want   []string
	}{
		"as it is":                  {false, cascade, 2, []string{gone}},
		"nothing said":              {false, "", 0, []string{gone}},
		"another policy":            {false, orphan, 2, []string{patch + `{"metadata":{"uid":"u"},"spec":{"deletionPolicy":"Orphan"}}`, gone}},
		"a higher epoch":            {false, cascade, 3, []string{patch + `{"metadata":{"uid":"u"},"spec":{"epoch":3}}`, gone}},
		"a lower epoch":             {false, cascade, 1, []string{gone}},
		"both":                      {false, orphan, 3, []string{patch + `{"metadata":{"uid":"u"},"spec":{"deletionPolicy":"Orphan","epoch":3}}`, gone}},
		"going":                     {true, cascade, 2, nil},
		"going, a lower epoch":      {true, "", 1, nil},
		"going, and a higher epoch": {true, "", 3, []string{patch + `{"metadata":{"uid":"u"},"spec":{"epoch":3}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &requests{}
			if err := New(r).Remove(t.Context(), []*fleetv1alpha1.FleetSlice{removable(tc.going)}, tc.policy, tc.epoch); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(tc.want, r.sent); d != "" || r.awaited {
				t.Error(d, r.awaited)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	const patch, gone = "application/merge-patch+json m1/n ", "delete m1/n u"
	other := removable(true)
	other.Finalizers = []string{"x.io/other"}
	for name, tc := range map[string]struct {
		one  *fleetv1alpha1.FleetSlice
		want []string
	}{
		"there":         {removable(false), []string{gone, patch + `{"metadata":{"finalizers":[],"uid":"u"}}`}},
		"going":         {removable(true), []string{patch + `{"metadata":{"finalizers":[],"uid":"u"}}`}},
		"not ours left": {other, nil},
	} {
		r := &requests{}
		if err := New(r).Release(t.Context(), []*fleetv1alpha1.FleetSlice{tc.one}); err != nil {
			t.Error(name, err)
		}
		if d := cmp.Diff(tc.want, r.sent); d != "" || r.awaited {
			t.Error(name, d, r.awaited)
		}
	}
}

// removable is a slice of epoch 2 that members take back with Cascade.
func removable(going bool) *fleetv1alpha1.FleetSlice {
	one := &fleetv1alpha1.FleetSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "m1", Name: "n", UID: "u", Finalizers: []string{fleetv1alpha1.SliceFinalizer}}}
	one.Spec.DeletionPolicy, one.Spec.Epoch = fleetv1alpha1.DeletionCascade, 2
	if going {
		now := metav1.Now()
		one.DeletionTimestamp = &now
	}
	return one
}

func TestWriteRaisesTheEpochOfASliceThatGoes(t *testing.T) {
	d, live := desired(), map[string]*fleetv1alpha1.FleetSlice{"m1": removable(true)}
	d.Spec.DeletionPolicy = fleetv1alpha1.DeletionCascade
	for _, tc := range []struct {
		epoch int64
		sent  int
		err   error
	}{{1, 0, nil}, {2, 0, nil}, {3, 1, nil}, {3, 1, errors.New("away")}} {
		r := &requests{err: tc.err}
		d.Spec.Epoch = tc.epoch
		out := New(r).Write(t.Context(), []Desired{d}, live)
		if len(r.sent) != tc.sent || !errors.Is(out.Failed["m1"], stdcmp.Or(tc.err, ErrDeleting)) || len(out.Written) > 0 {
			t.Errorf("epoch %d: sent %v, %+v", tc.epoch, r.sent, out)
		}
		if tc.err != nil && errors.Is(out.Failed["m1"], ErrDeleting) {
			t.Error("a failure that should be tried again is hidden")
		}
	}
}
