// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/references"
)

func settings() need { return need{"shop", references.Reference{Kind: "ConfigMap", Name: "settings"}} }

// needing is the slice of a workload in a cluster.
func needing(cluster, workload string, change ...func(*fleetv1alpha1.FleetSlice)) *fleetv1alpha1.FleetSlice {
	s := &fleetv1alpha1.FleetSlice{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: workload}}
	s.Spec.Source = fleetv1alpha1.SliceSource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: workload, UID: types.UID(workload)}
	for _, c := range change {
		c(s)
	}
	return s
}

func going(s *fleetv1alpha1.FleetSlice) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func orphaned(s *fleetv1alpha1.FleetSlice) {
	s.Spec.DeletionPolicy = fleetv1alpha1.DeletionOrphan
}
func adopting(p fleetv1alpha1.AdoptionPolicy) func(*fleetv1alpha1.FleetSlice) {
	return func(s *fleetv1alpha1.FleetSlice) { s.Spec.Adoption = p }
}

// carriers are slices that carry what is needed.
func carriers(clusters ...string) map[string]*fleetv1alpha1.FleetSlice {
	out := map[string]*fleetv1alpha1.FleetSlice{}
	for _, c := range clusters {
		out[c] = needing(c, settings().sliceName())
	}
	return out
}

func configMap(data string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": data},
		"metadata": map[string]any{"namespace": "shop", "name": "settings", "uid": "u1", "resourceVersion": "7"},
	}}
}

func TestPlanNeed(t *testing.T) {
	token := configMap("x")
	token.Object["kind"], token.Object["type"] = "Secret", "kubernetes.io/service-account-token"
	type terms = []string
	for name, tc := range map[string]struct {
		in     needInput
		want   map[string]terms
		remove []string
	}{
		"to each cluster that needs it": {
			in:   needInput{object: configMap("1"), needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web"), needing("m2", "web")}},
			want: map[string]terms{"m1": {"IfEqual", "Cascade"}, "m2": {"IfEqual", "Cascade"}},
		},
		"once for two that need it, on the terms that leave more": {
			in: needInput{object: configMap("1"), needing: []*fleetv1alpha1.FleetSlice{
				needing("m1", "web", adopting(fleetv1alpha1.AdoptionAlways), orphaned), needing("m1", "job", adopting(fleetv1alpha1.AdoptionNever)),
				needing("m2", "web", adopting(fleetv1alpha1.AdoptionAlways)),
			}},
			want: map[string]terms{"m1": {"Never", "Orphan"}, "m2": {"Always", "Cascade"}},
		},
		"stays while one of two needs it": {
			in:   needInput{object: configMap("1"), needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web")}, carrying: carriers("m1", "m2")},
			want: map[string]terms{"m1": {"IfEqual", "Cascade"}}, remove: []string{"m2"},
		},
		"stays until the last one is gone": {
			in:   needInput{object: configMap("1"), needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web", going, orphaned)}, carrying: carriers("m1")},
			want: map[string]terms{"m1": {"IfEqual", "Orphan"}},
		},
		"nothing new for what goes": {in: needInput{object: configMap("1"), needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web", going)}}},
		"goes when nobody needs it": {in: needInput{carrying: carriers("m1", "m2")}, remove: []string{"m1", "m2"}},
		"the hub's is gone: what there is stays": {
			in: needInput{needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web"), needing("m3", "web")}, carrying: carriers("m1", "m2")}, remove: []string{"m2"},
		},
		"the hub's cannot be read: what there is stays": {
			in: needInput{whyNot: "no right", needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web")}, carrying: carriers("m1")},
		},
		"a token stays": {in: needInput{need: need{"shop", references.Reference{Kind: "Secret", Name: "settings"}}, object: token, needing: []*fleetv1alpha1.FleetSlice{needing("m1", "web")}}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.in.Kind == "" {
				tc.in.need = settings()
			}
			plan, err := planNeed(&tc.in)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]terms
			for _, d := range plan.desired {
				if got == nil {
					got = map[string]terms{}
				}
				got[d.Cluster] = terms{string(d.Spec.Adoption), string(d.Spec.DeletionPolicy)}
				if d.Name != "configmap.shop.settings" || d.Placement != "" || strings.Contains(string(d.Spec.Objects[0].Raw), "resourceVersion") {
					t.Errorf("%+v: %s", d, d.Spec.Objects[0].Raw)
				}
			}
			var removed []string
			for _, s := range plan.remove {
				removed = append(removed, s.Namespace)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.remove, removed); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is wrong is told to each object once that needs it, and no content of it.
func TestNeedEvents(t *testing.T) {
	refused := carriers("m1")
	refused["m1"].Generation, refused["m1"].Status.ObservedGeneration = 1, 1
	refused["m1"].Status.Conditions = []metav1.Condition{{Type: fleetv1alpha1.SliceConditionApplied, Status: metav1.ConditionFalse, Reason: fleetv1alpha1.SliceReasonRejected, Message: "hunter2"}}
	conflict := carriers("m1")
	conflict["m1"].Status.Conditions = []metav1.Condition{{Type: fleetv1alpha1.SliceConditionApplied, Status: metav1.ConditionFalse, Reason: fleetv1alpha1.SliceReasonConflict}}
	both := []*fleetv1alpha1.FleetSlice{needing("m1", "web"), needing("m2", "web"), needing("m1", "job"), needing("m1", "old", going)}
	for name, tc := range map[string]struct {
		in     needInput
		failed map[string]error
		want   string
	}{
		"all is well": {in: needInput{object: configMap("1")}},
		"missing":     {in: needInput{}, want: "NeedMissing: ConfigMap shop/settings is needed by pods and is not on the hub; clusters keep the one they have"},
		"no right":    {in: needInput{whyNot: "no right"}, want: "NeedNotSent: ConfigMap shop/settings is needed by pods and not sent along: no right"},
		"refused":     {in: needInput{object: configMap("1"), carrying: refused}, want: "NeedNotSent: ConfigMap shop/settings is needed by pods: m1: it was refused there; condition Applied of FleetSlice m1/configmap.shop.settings says why"},
		"foreign":     {in: needInput{object: configMap("1"), carrying: conflict}, want: "NeedNotSent: ConfigMap shop/settings is needed by pods: m1: another one is there that is not ours, and it is left alone"},
		"not written": {in: needInput{object: configMap("1")}, failed: map[string]error{"m2": errors.New("too large")}, want: "NeedNotSent: ConfigMap shop/settings is needed by pods: m2: too large"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.need, tc.in.needing = settings(), both
			var got []string
			for _, e := range needEvents(&tc.in, tc.failed) {
				got = append(got, e.Regarding.GetName()+" "+e.Reason+": "+e.Note)
			}
			var want []string
			if tc.want != "" {
				want = []string{"web " + tc.want, "job " + tc.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
