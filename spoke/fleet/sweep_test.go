// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

func TestSweepable(t *testing.T) {
	for name, tc := range map[string]struct {
		object, list, highest int64
		stood                 bool
		want                  bool
	}{
		"a newer hub that has stood":     {1, 2, 2, true, true},
		"a newer hub, just come up":      {1, 2, 2, false, false},
		"same hub, truncated list":       {1, 1, 1, true, false},
		"restored hub, lower epoch":      {2, 1, 2, true, false},
		"lower than seen, above object":  {1, 2, 3, true, false},
		"empty list":                     {1, noEpoch, 1, true, false},
		"object does not say":            {math.MaxInt64, 2, 2, true, false},
		"never an epoch anywhere":        {0, 0, 0, true, false},
		"an object applied in the newer": {2, 2, 2, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			if why := sweepable(tc.object, tc.list, tc.highest, tc.stood); (why == "") != tc.want {
				t.Errorf("got %q, want sweepable %v", why, tc.want)
			}
		})
	}
}

func slicesOf(epochs ...int64) []fleetv1alpha1.FleetSlice {
	out := make([]fleetv1alpha1.FleetSlice, len(epochs))
	for i, e := range epochs {
		out[i].Name, out[i].Spec.Epoch = fmt.Sprint("s", i), e
	}
	return out
}

func TestCommonEpoch(t *testing.T) {
	for _, tc := range []struct {
		list []fleetv1alpha1.FleetSlice
		want int64
	}{{nil, noEpoch}, {slicesOf(0), 0}, {slicesOf(3, 3), 3}, {slicesOf(3, 4), noEpoch}, {slicesOf(4, 3), noEpoch}} {
		if got := commonEpoch(tc.list); got != tc.want {
			t.Errorf("%d slices: %d, want %d", len(tc.list), got, tc.want)
		}
	}
}

func TestEpochWatchBeginsAnewWithEveryChange(t *testing.T) {
	var w epochWatch
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for i, tc := range []struct {
		now   int
		list  []fleetv1alpha1.FleetSlice
		stood time.Duration
	}{
		{0, slicesOf(2), 0}, {5, slicesOf(2), 5 * time.Second}, {6, slicesOf(2, 2), 0}, {9, slicesOf(2, 2), 3 * time.Second}, {10, slicesOf(3, 3), 0},
	} {
		if got := w.observe(commonEpoch(tc.list), tc.list, at(tc.now)); got != tc.stood {
			t.Errorf("step %d: stood %v, want %v", i, got, tc.stood)
		}
	}
}

func TestObjectEpoch(t *testing.T) {
	obj := parse(t, configMapText)
	if got := objectEpoch(obj); got != math.MaxInt64 {
		t.Errorf("without annotation: %d", got)
	}
	obj.SetAnnotations(map[string]string{epochAnnotation: "7"})
	if got := objectEpoch(obj); got != 7 {
		t.Errorf("got %d", got)
	}
}

func TestReasonOf(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(gr, "x", errors.New("n"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"none":                  {nil, "Applied"},
		"conflict":              {fmt.Errorf("a: %w", conflictError{"x"}), "Conflict"},
		"unreadable":            {unreadableError{"x"}, "Unreadable"},
		"invalid":               {apierrors.NewInvalid(schema.GroupKind{Kind: "X"}, "x", nil), "Rejected"},
		"forbidden":             {errors.Join(fmt.Errorf("b: %w", apierrors.NewForbidden(gr, "x", errors.New("no")))), "Rejected"},
		"kind is not served":    {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}, "Rejected"},
		"namespace goes":        {terminating, "Retrying"},
		"lost a race":           {apierrors.NewConflict(gr, "x", errors.New("x")), "Retrying"},
		"too many":              {apierrors.NewTooManyRequests("x", 1), "Retrying"},
		"server away":           {errors.New("connection refused"), "Retrying"},
		"credentials run out":   {apierrors.NewUnauthorized("x"), "Retrying"},
		"internal server error": {apierrors.NewInternalError(errors.New("x")), "Retrying"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reasonOf(tc.err); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestKindsAreKeptAsText(t *testing.T) {
	for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, unitedDeployment} {
		if got, ok := parseKind(printKind(kind)); !ok || got != kind {
			t.Errorf("%v came back as %v", kind, got)
		}
	}
	for _, text := range []string{"", "v1/ConfigMap", "a/b/", "a/b/c/d"} {
		if kind, ok := parseKind(text); ok {
			t.Errorf("%q was read as %v", text, kind)
		}
	}
}
