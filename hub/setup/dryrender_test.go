// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/render"
)

// Overrides are tried at admission on the target as it is, for each cluster there is.
func TestOverridesAreTriedOnTheTarget(t *testing.T) {
	cluster := func(name, tier string) *clusterv1.ManagedCluster {
		return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"tier": tier}}}
	}
	patch := func(kind fleetv1alpha1.PatchType, tier, text string) fleetv1alpha1.Override {
		selector := metav1.LabelSelector{}
		if tier != "" {
			selector.MatchLabels = map[string]string{"tier": tier}
		}
		return fleetv1alpha1.Override{ClusterSelector: selector, Type: kind, Patch: runtime.RawExtension{Raw: []byte(text)}}
	}
	const operations, merged = fleetv1alpha1.PatchJSON6902, fleetv1alpha1.PatchStrategicMerge
	remove := patch(operations, "", `[{"op":"remove","path":"/spec/minReadySeconds"}]`)
	for name, tc := range map[string]struct {
		target         string
		old, overrides []fleetv1alpha1.Override
		field, want    string
	}{
		"none":                       {"web", nil, nil, "", ""},
		"fits":                       {"web", nil, []fleetv1alpha1.Override{patch(merged, "gold", `{"spec":{"minReadySeconds":5}}`)}, "", ""},
		"removes what is not there":  {"web", nil, []fleetv1alpha1.Override{remove}, "spec.overrides[0].patch", "for cluster m1: "},
		"for one cluster only":       {"web", nil, []fleetv1alpha1.Override{patch(operations, "iron", `[{"op":"test","path":"/spec/replicas","value":7}]`)}, "spec.overrides[0].patch", "for cluster m2: "},
		"for no cluster there is":    {"web", nil, []fleetv1alpha1.Override{patch(operations, "tin", `[{"op":"remove","path":"/spec/no"}]`)}, "", ""},
		"leans on the one before":    {"web", nil, []fleetv1alpha1.Override{patch(merged, "", `{"spec":{"minReadySeconds":5}}`), remove}, "", ""},
		"the one before is narrower": {"web", nil, []fleetv1alpha1.Override{patch(merged, "gold", `{"spec":{"minReadySeconds":5}}`), remove}, "spec.overrides[1].patch", "for cluster m2: "},
		"a target that comes later":  {"later", nil, []fleetv1alpha1.Override{remove}, "", ""},
		"is there already":           {"web", []fleetv1alpha1.Override{remove}, []fleetv1alpha1.Override{remove}, "", ""},
		"changed":                    {"web", []fleetv1alpha1.Override{patch(merged, "", `{}`)}, []fleetv1alpha1.Override{remove}, "spec.overrides[0].patch", "for cluster m1: "},
		"changes the name":           {"web", nil, []fleetv1alpha1.Override{patch(operations, "", `[{"op":"replace","path":"/metadata/name","value":"x"}]`)}, "spec.overrides", "must not change name"},
	} {
		t.Run(name, func(t *testing.T) {
			target := &appsv1beta1.CloneSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			reader := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(target, cluster("m1", "gold"), cluster("m2", "iron")).Build()
			place := func(overrides []fleetv1alpha1.Override) *fleetv1alpha1.FleetPlacement {
				p := &fleetv1alpha1.FleetPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				p.Spec.TargetRef = fleetv1alpha1.TargetReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: tc.target}
				p.Spec.Overrides = overrides
				return p
			}
			dry := &dryRender{targets: reader, clusters: reader, renderer: render.New()}
			var old *fleetv1alpha1.FleetPlacement
			if tc.old != nil {
				old = place(tc.old)
			}
			list, err := dry.check(t.Context(), old, place(tc.overrides))
			if err != nil || (len(list) > 0) != (tc.field != "") {
				t.Fatalf("%v, %v", list, err)
			}
			if tc.field != "" && (list[0].Field != tc.field || !strings.Contains(list[0].Detail, tc.want)) {
				t.Errorf("%v", list)
			}
		})
	}
}
