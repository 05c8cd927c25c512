// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// moves writes a plan down: verb, subset, replicas/partition, reason.
func moves(p *plan) []string {
	var out []string
	a := cloneSetAdapter{}
	for _, m := range p.creates {
		out = append(out, "create "+m.subset+sizes(a, m))
	}
	for _, m := range p.updates {
		out = append(out, "update "+m.subset+sizes(a, m)+": "+m.reason)
	}
	for _, m := range p.deletes {
		out = append(out, "delete "+m.live.GetName()+": "+m.reason)
	}
	return out
}

func sizes(a cloneSetAdapter, m move) string {
	if set, ok := m.want.(*appsv1beta1.CloneSet); ok {
		n := a.read(set)
		return fmt.Sprintf(" %d/%d", n.replicas, n.partition)
	}
	n := deploymentAdapter{}.read(m.want)
	return fmt.Sprintf(" %d", n.replicas)
}

func TestPlan(t *testing.T) {
	partitions := func(ud *appsv1beta1.UnitedDeployment, p map[string]int32) *appsv1beta1.UnitedDeployment {
		ud.Spec.UpdateStrategy.ManualUpdate = &appsv1beta1.ManualUpdate{Partitions: p}
		return ud
	}
	two := cloneSetUD(5, subset("a", 2), subset("b", -1))
	armed := partitions(cloneSetUD(5, subset("a", 2), subset("b", 3)), map[string]int32{"a": 1, "b": 9})
	old := atRest(two, "a", sizing{replicas: 2})
	old.object = old.object.DeepCopyObject().(*appsv1beta1.CloneSet)
	old.object.GetLabels()[appsv1beta1.SubsetRevisionLabel] = "web-1"
	patched := cloneSetUD(2, subset("a", 2))
	patched.Spec.Topology.Subsets[0].Patch = runtime.RawExtension{Raw: []byte(`{"spec":{"priority":1}}`)}
	moved := cloneSetUD(5, subset("a", 2), subset("b", -1))
	moved.Spec.Topology.Subsets[0].NodeSelectorTerm.MatchExpressions[0].Values = []string{"zone-a", "zone-c"}
	moved.Spec.Topology.Subsets[1].Tolerations = []corev1.Toleration{{Key: "virtual", Operator: corev1.TolerationOpExists}}
	broken := cloneSetUD(4, subset("a", 2), subset("b", 2))
	broken.Spec.Topology.Subsets[0].Patch = runtime.RawExtension{Raw: []byte(`{"spec":[]}`)}
	going := atRest(two, "a", sizing{replicas: 1})
	going.object.SetDeletionTimestamp(&epoch)
	deployments := partitions(deploymentUD(2, subset("a", 2)), map[string]int32{"a": 2})
	gone := atRest(cloneSetUD(1, subset("c", 1)), "c", sizing{replicas: 1})

	for name, tc := range map[string]struct {
		s       *snapshot
		want    []string
		trouble string
	}{
		"nothing there yet": {snapshotOf(two), []string{"create a 2/0", "create b 3/0"}, ""},
		"at rest":           {snapshotOf(two, atRest(two, "a", sizing{replicas: 2}), atRest(two, "b", sizing{replicas: 3})), nil, ""},
		"scaled": {snapshotOf(two, atRest(two, "a", sizing{replicas: 2}), atRest(two, "b", sizing{replicas: 1})),
			[]string{"update b 3/0: replicas 1 are to be 3"}, ""},
		"new revision": {snapshotOf(two, old, atRest(two, "b", sizing{replicas: 3})),
			[]string{"update a 2/0: revision web-1 is to be web-2"}, ""},
		"partitions are capped": {snapshotOf(armed, atRest(armed, "a", sizing{replicas: 2}), atRest(armed, "b", sizing{replicas: 3})),
			[]string{"update a 2/1: partition 0 is to be 1", "update b 3/3: partition 0 is to be 3"}, ""},
		"patch changed": {snapshotOf(patched, atRest(cloneSetUD(2, subset("a", 2)), "a", sizing{replicas: 2})),
			[]string{"update a 2/0: the patch has changed"}, ""},
		"domain changed": {snapshotOf(moved, atRest(two, "a", sizing{replicas: 2}), atRest(two, "b", sizing{replicas: 3})),
			[]string{"update a 2/0: the affinity has changed", "update b 3/0: the tolerations have changed"}, ""},
		"one patch is broken, the other subset goes on": {snapshotOf(broken), []string{"create b 2/0"}, "subset a: patch"},
		"being deleted: wait":                           {snapshotOf(two, going, atRest(two, "b", sizing{replicas: 3})), nil, ""},
		"deployment with a partition is at rest":        {snapshotOf(deployments, atRest(deployments, "a", sizing{replicas: 2})), nil, ""},
		"subset left the spec": {snapshotOf(two, gone, atRest(two, "a", sizing{replicas: 2}), atRest(two, "b", sizing{replicas: 3})),
			[]string{"delete web-c-x: the subset is no longer in the spec"}, ""},
		"too few replicas: sizes stay": {snapshotOf(cloneSetUD(14, subset("a", 6), subset("b", 6)), atRest(armed, "a", sizing{replicas: 2})), nil, "less than spec.replicas"},
		"below the sum: in list order": {snapshotOf(cloneSetUD(4, subset("a", 3), subset("b", 3))), []string{"create a 3/0", "create b 1/0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := makePlan(tc.s)
			if d := cmp.Diff(tc.want, moves(p)); d != "" {
				t.Error(d)
			}
			switch {
			case tc.trouble == "" && p.trouble != nil, tc.trouble != "" && (p.trouble == nil || !strings.Contains(p.trouble.Error(), tc.trouble)):
				t.Errorf("trouble = %v, want %q", p.trouble, tc.trouble)
			}
		})
	}
}

func TestPlanKeepsTheBestDuplicate(t *testing.T) {
	ud := cloneSetUD(2, subset("a", 2))
	made := func(name string, ready int32, age time.Duration, going bool) liveSubset {
		l := atRest(ud, "a", sizing{replicas: 2})
		l.readyReplicas = ready
		l.object.SetName(name)
		l.object.SetCreationTimestamp(metav1.NewTime(epoch.Add(-age)))
		if going {
			l.object.SetDeletionTimestamp(&epoch)
		}
		return l
	}
	for name, tc := range map[string]struct {
		live []liveSubset
		want []string
	}{
		"more ready pods":       {[]liveSubset{made("old", 1, time.Hour, false), made("new", 2, 0, false)}, []string{"delete old: the subset also has new"}},
		"as many: older":        {[]liveSubset{made("new", 1, 0, false), made("old", 1, time.Hour, false)}, []string{"delete new: the subset also has old"}},
		"one is going already":  {[]liveSubset{made("going", 2, time.Hour, true), made("new", 0, 0, false)}, nil},
		"three":                 {[]liveSubset{made("x", 0, 0, false), made("y", 0, 0, false), made("z", 1, 0, false)}, []string{"delete x: the subset also has z", "delete y: the subset also has z"}},
		"both are going: leave": {[]liveSubset{made("x", 0, 0, true), made("y", 0, 0, true)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, moves(makePlan(snapshotOf(ud, tc.live...)))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPlanDropsOtherKinds(t *testing.T) {
	ud := deploymentUD(1, subset("a", 1))
	s := snapshotOf(ud, atRest(ud, "a", sizing{replicas: 1}))
	other := metav1.PartialObjectMetadata{}
	other.SetGroupVersionKind(cloneSetAdapter{}.kind())
	other.Name, other.Labels = "web-a-old", map[string]string{appsv1beta1.SubsetNameLabel: "a"}
	s.others = []metav1.PartialObjectMetadata{other}
	if d := cmp.Diff([]string{"delete web-a-old: the template is no longer of kind CloneSet"}, moves(makePlan(s))); d != "" {
		t.Error(d)
	}
}

func TestPlanMinMax(t *testing.T) {
	bounded := func(name string, low, high int32) appsv1beta1.Subset {
		s := subset(name, -1)
		s.MinReplicas = ptr.To(intstr.FromInt32(low))
		if high > 0 {
			s.MaxReplicas = ptr.To(intstr.FromInt32(high))
		}
		return s
	}
	for total, want := range map[int32][]string{
		3: {"create a 1/0", "create b 1/0", "create c 1/0"},
		7: {"create a 2/0", "create b 2/0", "create c 3/0"},
		1: {"create a 1/0", "create b 0/0", "create c 0/0"},
	} {
		ud := cloneSetUD(total, bounded("a", 1, 2), bounded("b", 1, 2), bounded("c", 1, 0))
		if d := cmp.Diff(want, moves(makePlan(snapshotOf(ud)))); d != "" {
			t.Errorf("total %d: %s", total, d)
		}
	}
}
