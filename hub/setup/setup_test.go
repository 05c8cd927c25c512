// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
)

// server answers which resources a group has.
type serves struct {
	discovery.ServerResourcesInterface
	resources []string
	err       error
	asked     int
}

func (s *serves) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	s.asked++
	list := &metav1.APIResourceList{}
	for _, r := range s.resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r})
	}
	return list, s.err
}

func TestDividers(t *testing.T) {
	foreign := schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Game"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "x.io", Version: "v1"}})
	mapper.Add(foreign, meta.RESTScopeNamespace)
	d := &dividers{mapper: mapper, discovery: &serves{resources: []string{"games", "games/scale"}}, clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	for name, tc := range map[string]struct {
		gk   schema.GroupKind
		mode fleetv1alpha1.DivisionMode
		want string
		why  string
	}{
		"united":            {ours("UnitedDeployment"), fleetv1alpha1.DivisionDivided, "uniteddeployment", ""},
		"united copies":     {ours("UnitedDeployment"), fleetv1alpha1.DivisionDuplicated, "uniteddeployment", ""},
		"clone set":         {ours("CloneSet"), fleetv1alpha1.DivisionDivided, "scalable", ""},
		"deployment":        {builtIn("Deployment"), fleetv1alpha1.DivisionDivided, "scalable", ""},
		"scaled kind":       {foreign.GroupKind(), fleetv1alpha1.DivisionDivided, "scalable", ""},
		"copies of it":      {foreign.GroupKind(), fleetv1alpha1.DivisionDuplicated, "copies", ""},
		"numbered pods":     {builtIn("StatefulSet"), fleetv1alpha1.DivisionDivided, "", "are numbered"},
		"our numbered pods": {ours("StatefulSet"), fleetv1alpha1.DivisionDivided, "", "are numbered"},
		"numbered copies":   {builtIn("StatefulSet"), fleetv1alpha1.DivisionDuplicated, "copies", ""},
		"no replicas":       {schema.GroupKind{Kind: "ConfigMap"}, fleetv1alpha1.DivisionDivided, "", "UnitedDeployment, CloneSet, Deployment"},
	} {
		divider, got, why := d.For(tc.gk, tc.mode)
		if got != tc.want || (divider == nil) != (tc.want == "") || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: %q, %q", name, got, why)
		}
	}
}

func TestScaleIsAskedNowAndThen(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "x.io", Version: "v1", Kind: "Game"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "x.io", Version: "v1"}})
	mapper.Add(gvk, meta.RESTScopeNamespace)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	asks := &serves{resources: []string{"games"}}
	d := &dividers{mapper: mapper, discovery: asks, clock: clock}
	for range 3 {
		if yes, err := d.isScaled(gvk.GroupKind()); yes || err != nil || asks.asked != 1 {
			t.Fatal("asked", asks.asked, err)
		}
	}
	clock.SetTime(time.Unix(301, 0))
	asks.resources = []string{"games/scale"}
	if yes, err := d.isScaled(gvk.GroupKind()); !yes || err != nil || asks.asked != 2 {
		t.Error("the new answer is not taken", err)
	}
	clock.SetTime(time.Unix(602, 0))
	asks.err = errors.New("away")
	if yes, err := d.isScaled(gvk.GroupKind()); !yes || err != nil {
		t.Error("what was known is forgotten while the server is away", err)
	}
}

// placements is a reader that lists some FleetPlacements.
type placements struct {
	client.Reader
	items []fleetv1alpha1.FleetPlacement
}

func (p placements) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*fleetv1alpha1.FleetPlacementList).Items = p.items
	return nil
}

func TestTargetTaken(t *testing.T) {
	place := func(name string, going bool) fleetv1alpha1.FleetPlacement {
		p := fleetv1alpha1.FleetPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		p.Spec.TargetRef = fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web"}
		if going {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}
		return p
	}
	mine := place("mine", false)
	for name, tc := range map[string]struct {
		others []fleetv1alpha1.FleetPlacement
		taken  bool
	}{
		"none":         {nil, false},
		"itself":       {[]fleetv1alpha1.FleetPlacement{mine}, false},
		"another":      {[]fleetv1alpha1.FleetPlacement{place("other", false)}, true},
		"one on leave": {[]fleetv1alpha1.FleetPlacement{place("other", true)}, false},
	} {
		list, err := targetTaken(context.Background(), placements{items: tc.others}, &mine)
		if err != nil || (len(list) > 0) != tc.taken {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		if tc.taken && (list[0].Field != "spec.targetRef" || !strings.Contains(list[0].Detail, `"other" already places UnitedDeployment "web"`)) {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// TestPlacementRules: what cannot be divided is refused by its kind, when the placement is made and when
// its mode changes, and only then.
func TestPlacementRules(t *testing.T) {
	away := &serves{err: errors.New("away")}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	place := func(apiVersion, kind string, mode fleetv1alpha1.DivisionMode) *fleetv1alpha1.FleetPlacement {
		p := &fleetv1alpha1.FleetPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		p.Spec.TargetRef = fleetv1alpha1.TargetReference{APIVersion: apiVersion, Kind: kind, Name: "web"}
		p.Spec.ClusterNames, p.Spec.Division.Mode = []string{"m1"}, mode
		return p
	}
	config := func(mode fleetv1alpha1.DivisionMode) *fleetv1alpha1.FleetPlacement {
		return place("v1", "ConfigMap", mode)
	}
	const copied, divided = fleetv1alpha1.DivisionDuplicated, fleetv1alpha1.DivisionDivided
	for name, tc := range map[string]struct {
		asks     *serves
		old, obj *fleetv1alpha1.FleetPlacement
		want     string
		unknown  bool
	}{
		"divided":                {&serves{}, nil, config(""), "a ConfigMap cannot be divided; UnitedDeployment, CloneSet, Deployment", false},
		"copied":                 {&serves{}, nil, config(copied), "", false},
		"a kind with a divider":  {away, nil, place("apps.kruise.io/v1beta1", "CloneSet", ""), "", false},
		"numbered pods":          {away, nil, place("apps/v1", "StatefulSet", ""), "are numbered", false},
		"a kind that may come":   {&serves{}, nil, place("apps.kruise.io/v1alpha1", "BroadcastJob", ""), "the hub has no such kind; UnitedDeployment, CloneSet, Deployment", false},
		"the server is away":     {away, nil, config(""), "", true},
		"no longer copied":       {&serves{}, config(copied), config(""), "a ConfigMap cannot be divided", false},
		"copied from now on":     {&serves{}, config(""), config(copied), "", false},
		"stored without webhook": {&serves{}, config(divided), config(""), "", false},
	} {
		rules := placementRules{placements: placements{}, dividers: &dividers{mapper: mapper, discovery: tc.asks, clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}}
		_, list, err := rules.check(context.Background(), tc.old, tc.obj)
		if (err != nil) != tc.unknown || (len(list) > 0) != (tc.want != "") {
			t.Errorf("%s: %v, %v", name, list, err)
			continue
		}
		if tc.want != "" && (list[0].Field != "spec.targetRef.kind" || !strings.Contains(list[0].Detail, tc.want)) {
			t.Errorf("%s: %v", name, list)
		}
	}
}
