// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetplacement

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	fleetv1alpha1 "github.com/flotilla-sh/flotilla/apis/fleet/v1alpha1"
	"github.com/flotilla-sh/flotilla/hub/placement"
	"github.com/flotilla-sh/flotilla/hub/render"
	"github.com/flotilla-sh/flotilla/hub/share"
	"github.com/flotilla-sh/flotilla/hub/slice"
	"github.com/flotilla-sh/flotilla/hub/split"
)

var epoch = time.Unix(1000, 0)

// even gives every cluster one replica, and knows only one kind.
type even struct{ err error }

func (e even) For(gk schema.GroupKind, _ fleetv1alpha1.DivisionMode) (Divider, string, string) {
	if gk.Kind != "Thing" {
		return nil, "", "only things can be divided"
	}
	return e, "even", ""
}

func (e even) Divide(req share.Request) (share.Plan, error) {
	plan := share.Plan{Revision: "r", Subsets: []share.Subset{{Replicas: int32(len(req.Clusters))}}}
	for _, c := range req.Clusters {
		plan.Slices = append(plan.Slices, share.Slice{
			Cluster: c.Name, Object: c.Object, Held: map[string]int32{"": c.Weight}, Split: []fleetv1alpha1.SubsetReplicas{{Replicas: c.Weight}},
		})
		if held := req.Held.Of(c.Name, ""); held != c.Weight {
			plan.Moves = append(plan.Moves, share.Move{Move: split.Move{Name: c.Name, From: held, To: c.Weight, Reason: split.Grow}})
		}
	}
	return plan, e.err
}

func (e even) Status(*unstructured.Unstructured, share.Summary) (map[string]any, error) {
	return nil, nil
}

func thing() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "x.io/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "t", "namespace": "shop", "uid": "uid-t", "generation": int64(3)},
		"spec":     map[string]any{"image": "a"},
	}}
}

func cluster(name string) placement.Cluster {
	mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	mc.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue}}
	return placement.FromManagedCluster(mc)
}

// held is a slice of a cluster as the cache has it.
func held(cluster string) *fleetv1alpha1.FleetSlice {
	return &fleetv1alpha1.FleetSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "thing.shop.t", Generation: 2, Annotations: map[string]string{slice.HeldAnnotation: `{"":1}`}},
		Spec:       fleetv1alpha1.FleetSliceSpec{Split: []fleetv1alpha1.SubsetReplicas{{Replicas: 1}}},
		Status: fleetv1alpha1.FleetSliceStatus{
			ObservedGeneration: 2, Conditions: []metav1.Condition{{Type: fleetv1alpha1.SliceConditionApplied, Status: metav1.ConditionTrue}},
			Subsets: []fleetv1alpha1.SubsetCounters{{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, UpdatedReadyReplicas: 1}},
		},
	}
}

// standing is a snapshot of a placement over clusters a and b, both with a slice.
func standing() *snapshot {
	return &snapshot{
		placement: &fleetv1alpha1.FleetPlacement{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop", UID: "uid-p", Generation: 5},
			Spec: fleetv1alpha1.FleetPlacementSpec{
				TargetRef:    fleetv1alpha1.TargetReference{APIVersion: "x.io/v1", Kind: "Thing", Name: "t"},
				ClusterNames: []string{"a", "b"},
			},
		},
		target:   thing(),
		clusters: map[string]placement.Cluster{"a": cluster("a"), "b": cluster("b")},
		slices:   map[string]*fleetv1alpha1.FleetSlice{"a": held("a"), "b": held("b")},
		renewed:  map[string]time.Time{"a": epoch, "b": epoch},
		epoch:    7, now: epoch,
	}
}

func deciding() *Reconciler {
	return &Reconciler{Dividers: even{}, Renderer: render.New(), StaleAfter: 40 * time.Second}
}

func names(list []*fleetv1alpha1.FleetSlice) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Namespace)
	}
	return strings.Join(out, ",")
}

func TestDecide(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		change           func(*snapshot, *Reconciler)
		resolved, placed string
		desired          string
		remove           string
		release          bool
	}{
		"as it should be": {func(*snapshot, *Reconciler) {}, "", "", "a,b", "", false},
		"taken":           {func(s *snapshot, _ *Reconciler) { s.holder = "q" }, "TargetTaken", "TargetTaken", "", "", false},
		"unreadable":      {func(s *snapshot, _ *Reconciler) { s.unreadable, s.target = "no such kind", nil }, "TargetNotSupported", "TargetNotSupported", "", "", false},
		"gone":            {func(s *snapshot, _ *Reconciler) { s.target = nil }, "TargetNotFound", "TargetNotFound", "", "a,b", false},
		"going":           {func(s *snapshot, _ *Reconciler) { s.target.SetDeletionTimestamp(&now) }, "Deleting", "Deleting", "", "a,b", true},
		"no divider": {func(s *snapshot, _ *Reconciler) { s.placement.Spec.TargetRef.Kind = "Other" },
			"TargetNotSupported", "TargetNotSupported", "", "", false},
		"unknown cluster": {func(s *snapshot, _ *Reconciler) { s.placement.Spec.ClusterNames = []string{"a", "z"} }, "UnknownClusters", "", "a", "b", false},
		"no cluster":      {func(s *snapshot, _ *Reconciler) { s.placement.Spec.ClusterNames = []string{"z"} }, "NoClusters", "NoClusters", "", "", false},
		"no OCM placement": {func(s *snapshot, _ *Reconciler) {
			s.placement.Spec.ClusterNames, s.placement.Spec.PlacementRef = nil, &fleetv1alpha1.PlacementReference{Name: "x"}
		}, "NoClusters", "NoClusters", "", "", false},
		"bad selector": {func(s *snapshot, _ *Reconciler) {
			s.placement.Spec.ClusterNames, s.placement.Spec.ClusterSelector = nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "Near"}}}
		}, "NoClusters", "NoClusters", "", "", false},
		"not divisible":   {func(_ *snapshot, r *Reconciler) { r.Dividers = even{share.Problem{Reason: "InvalidTarget"}} }, "", "InvalidTarget", "", "", false},
		"divider at loss": {func(_ *snapshot, r *Reconciler) { r.Dividers = even{errors.New("x")} }, "", "InvalidTarget", "", "", false},
		"bad override": {func(s *snapshot, _ *Reconciler) {
			s.placement.Spec.Overrides = []fleetv1alpha1.Override{{Type: fleetv1alpha1.PatchJSON6902, Patch: runtime.RawExtension{Raw: []byte(`[{"op":"remove","path":"/x"}]`)}}}
		}, "", "RenderFailed", "", "", false},
		"empty override": {func(s *snapshot, _ *Reconciler) { s.placement.Spec.Overrides = []fleetv1alpha1.Override{{}} }, "", "RenderFailed", "", "", false},
		"bad weight selector": {func(s *snapshot, _ *Reconciler) {
			s.placement.Spec.Division.Weights = []fleetv1alpha1.ClusterWeight{{ClusterSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Operator: "Near"}}}}}
		}, "", "InvalidTarget", "", "", false},
		"nothing selected": {func(s *snapshot, _ *Reconciler) { selectNothing(s) }, "NoClusters", "NoClusters", "", "", false},
		"nothing selected or held": {func(s *snapshot, _ *Reconciler) {
			selectNothing(s)
			s.slices = nil
		}, "NoClusters", "", "", "", false},
		"nothing selected, one gone": {func(s *snapshot, _ *Reconciler) {
			selectNothing(s)
			delete(s.clusters, "b")
		}, "NoClusters", "NoClusters", "", "b", false},
		"nothing selected, one going": {func(s *snapshot, _ *Reconciler) {
			selectNothing(s)
			leaves(s, "b")
		}, "NoClusters", "NoClusters", "", "b", false},
		"nothing selected, all going": {func(s *snapshot, _ *Reconciler) {
			selectNothing(s)
			leaves(s, "a")
			delete(s.clusters, "b")
		}, "NoClusters", "", "", "a,b", false},
		"nothing selected, the rest being taken back": {func(s *snapshot, _ *Reconciler) {
			selectNothing(s)
			leaves(s, "a")
			s.slices["b"].DeletionTimestamp = &now
		}, "NoClusters", "", "", "a,b", false},
		"no place":                  {func(_ *snapshot, r *Reconciler) { r.Dividers = nowhere{short: 2} }, "", "InsufficientCapacity", "", "", false},
		"no place, one gone":        {func(s *snapshot, r *Reconciler) { r.Dividers = nowhere{short: 2}; delete(s.clusters, "b") }, "UnknownClusters", "InsufficientCapacity", "", "b", false},
		"no place, and none held":   {func(s *snapshot, r *Reconciler) { r.Dividers = nowhere{short: 2}; s.slices = nil }, "", "", "", "", false},
		"no place, none wanted":     {func(_ *snapshot, r *Reconciler) { r.Dividers = nowhere{} }, "", "", "", "a,b", false},
		"no place for copies":       {func(s *snapshot, r *Reconciler) { r.Dividers = nowhere{}; duplicate(s, 3) }, "", "InsufficientCapacity", "", "", false},
		"no copies wanted":          {func(s *snapshot, r *Reconciler) { r.Dividers = nowhere{}; duplicate(s, 0) }, "", "", "", "a,b", false},
		"taken, one gone":           {func(s *snapshot, _ *Reconciler) { s.holder = "q"; delete(s.clusters, "b") }, "TargetTaken", "TargetTaken", "", "b", false},
		"no divider, one gone":      {func(s *snapshot, r *Reconciler) { s.placement.Spec.TargetRef.Kind = "Other"; delete(s.clusters, "b") }, "TargetNotSupported", "TargetNotSupported", "", "b", false},
		"not divisible, one gone":   {func(s *snapshot, r *Reconciler) { r.Dividers = even{errors.New("x")}; delete(s.clusters, "b") }, "UnknownClusters", "InvalidTarget", "", "b", false},
		"taken, a stray's is gone":  {func(s *snapshot, _ *Reconciler) { s.holder = "q"; s.strays = []*fleetv1alpha1.FleetSlice{held("old")} }, "TargetTaken", "TargetTaken", "", "old", false},
		"taken, one being deleted":  {func(s *snapshot, _ *Reconciler) { s.holder = "q"; s.slices["a"].DeletionTimestamp = &now }, "TargetTaken", "TargetTaken", "", "a", false},
		"chosen, but being deleted": {func(s *snapshot, _ *Reconciler) { s.slices["a"].DeletionTimestamp = &now }, "", "", "a,b", "", false},
		"a stray":                   {func(s *snapshot, _ *Reconciler) { s.strays = []*fleetv1alpha1.FleetSlice{held("old")} }, "", "", "a,b", "old", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := standing(), deciding()
			tc.change(s, r)
			d := r.decide(s)
			if got := reasonOf(d.resolved); got != tc.resolved {
				t.Errorf("resolved: %q, want %q", got, tc.resolved)
			}
			if got := reasonOf(d.placed); got != tc.placed || (d.plan == nil) != (tc.placed != "") {
				t.Errorf("placed: %q, want %q", got, tc.placed)
			}
			var desired []string
			for _, one := range d.desired {
				desired = append(desired, one.Cluster)
			}
			if got := strings.Join(desired, ","); got != tc.desired {
				t.Errorf("desired %q, want %q", got, tc.desired)
			}
			if got := names(d.remove); got != tc.remove || d.release != tc.release {
				t.Errorf("remove %q, want %q; release %v", got, tc.remove, d.release)
			}
			for _, p := range []*share.Problem{d.resolved, d.placed} {
				if p != nil && p.Message == "" && tc.placed != "InvalidTarget" {
					t.Error("no message")
				}
			}
		})
	}
}

func selectNothing(s *snapshot) {
	s.placement.Spec.ClusterNames, s.placement.Spec.ClusterSelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"no": "such"}}
}

func leaves(s *snapshot, cluster string) {
	c := s.clusters[cluster]
	c.Deleting = true
	s.clusters[cluster] = c
}

func duplicate(s *snapshot, replicas int64) {
	s.placement.Spec.Division.Mode = fleetv1alpha1.DivisionDuplicated
	s.target.Object["spec"].(map[string]any)["replicas"] = replicas
}

// nowhere finds no place for anything.
type nowhere struct{ short int32 }

func (n nowhere) For(schema.GroupKind, fleetv1alpha1.DivisionMode) (Divider, string, string) {
	return n, "nowhere", ""
}

func (n nowhere) Divide(share.Request) (plan share.Plan, _ error) {
	if n.short > 0 {
		plan.Short = []share.Shortage{{Replicas: n.short, Why: "none matches"}}
	}
	return plan, nil
}

func (n nowhere) Status(*unstructured.Unstructured, share.Summary) (map[string]any, error) {
	return nil, nil
}

func TestWhatIsKeptIsSaid(t *testing.T) {
	s := standing()
	selectNothing(s)
	d := deciding().decide(s)
	const kept = "members keep what they have; delete the FleetPlacement to take it back"
	if want := "nothing is selected: " + kept + ": a (no longer selected), b (no longer selected)"; d.resolved.Message != want {
		t.Error(d.resolved.Message)
	}
	r := deciding()
	r.Dividers = nowhere{short: 2}
	d = r.decide(standing())
	if want := "no selected cluster can take a share: " + kept + "; 2 replicas have no place: none matches"; d.placed.Message != want {
		t.Error(d.placed.Message)
	}
}

// asked remembers what a divider was asked.
type asked struct {
	even
	last *share.Request
}

func (a asked) For(schema.GroupKind, fleetv1alpha1.DivisionMode) (Divider, string, string) {
	return a, "asked", ""
}

func (a asked) Divide(req share.Request) (share.Plan, error) {
	*a.last = req
	return a.even.Divide(req)
}

func TestShareOnItsWayOutIsNotHeld(t *testing.T) {
	s, r, now := standing(), deciding(), metav1.Now()
	s.slices["a"].DeletionTimestamp = &now
	var req share.Request
	r.Dividers = asked{last: &req}
	r.decide(s)
	if diff := cmp.Diff(share.Holdings{"b": {"": 1}}, req.Held); diff != "" {
		t.Error(diff)
	}
	if _, given := req.Given["a"]; given {
		t.Error("its terms are kept")
	}
	if req.Clusters[0].Frozen != slice.ErrDeleting.Error() || req.Clusters[1].Frozen != "" {
		t.Errorf("frozen: %q, %q", req.Clusters[0].Frozen, req.Clusters[1].Frozen)
	}
}

func reasonOf(p *share.Problem) string {
	if p == nil {
		return ""
	}
	return p.Reason
}

func TestDesiredSlices(t *testing.T) {
	s := standing()
	s.placement.Spec.Division.Weights = []fleetv1alpha1.ClusterWeight{
		{ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{"name": "a"}}, Weight: 3},
		{ClusterSelector: metav1.LabelSelector{}, Weight: 2},
	}
	d := deciding().decide(s)
	want := slice.Desired{
		Cluster: "a", Name: slice.Name(schema.GroupKind{Group: "x.io", Kind: "Thing"}, "shop", "t"), Placement: "uid-p", Held: map[string]int32{"": 3},
		Spec: fleetv1alpha1.FleetSliceSpec{
			Epoch:   7,
			Source:  fleetv1alpha1.SliceSource{APIVersion: "x.io/v1", Kind: "Thing", Namespace: "shop", Name: "t", UID: "uid-t", Generation: 3, Revision: "r"},
			Objects: []runtime.RawExtension{{Raw: []byte(`{"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"t","namespace":"shop"},"spec":{"image":"a"}}`)}},
			Split:   []fleetv1alpha1.SubsetReplicas{{Replicas: 3}}, Adoption: fleetv1alpha1.AdoptionIfEqual, DeletionPolicy: fleetv1alpha1.DeletionCascade,
		},
	}
	if diff := cmp.Diff(want, d.desired[0]); diff != "" {
		t.Error(diff)
	}
	if d.desired[1].Held[""] != 2 {
		t.Errorf("the second selector: %v", d.desired[1].Held)
	}
}

func TestRefusedClustersAreSaid(t *testing.T) {
	s := standing()
	refused := s.clusters["b"]
	refused.Accepted = false
	s.clusters["b"] = refused
	d := deciding().decide(s)
	if c := placedCondition(d, outcome{}); c.Status != metav1.ConditionTrue || c.Message != "not served: b (the hub has not accepted the cluster)" {
		t.Error(c)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	why := map[string]string{}
	for i := range 30 {
		why[fmt.Sprintf("c%02d", i)] = "full"
	}
	if got := reasons(why); !strings.HasPrefix(got, "c00 (full), c01 (full)") || !strings.HasSuffix(got, "c09 (full) and 20 more") {
		t.Error(got)
	}
}

func BenchmarkDecide(b *testing.B) {
	s := standing()
	s.placement.Spec.ClusterNames = nil
	s.placement.Spec.ClusterSelector = &metav1.LabelSelector{}
	for i := range 100 {
		name := fmt.Sprint("c", i)
		s.clusters[name], s.slices[name], s.renewed[name] = cluster(name), held(name), epoch
	}
	r := deciding()
	for b.Loop() {
		d := r.decide(s)
		members := membersOf(s, d, outcome{}, r.StaleAfter)
		statusOf(s, d, members, summarize(s, d, outcome{}, members))
	}
}
