// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func labelled(labels ...map[string]string) []Pod {
	out := make([]Pod, len(labels))
	for i := range labels {
		out[i] = Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Labels: labels[i]}}}
	}
	return out
}

func TestScatterContract(t *testing.T) {
	term := appsv1beta1.UpdateScatterStrategy{{Key: "k", Value: "A"}}
	for order, want := range map[string][]int{
		". . . . A A":       {4, 0, 1, 2, 3, 5},
		". . . A A A":       {3, 0, 1, 4, 2, 5},
		". . A A A A":       {2, 3, 0, 4, 1, 5},
		". . . . . . A A A": {6, 0, 1, 2, 7, 3, 4, 5, 8},
		". . A . A A A A A": {2, 4, 0, 5, 6, 1, 7, 3, 8},
		". A . A . . A A A": {1, 0, 3, 2, 6, 4, 7, 5, 8},
		". . . A":           {0, 1, 2, 3},
		". A A A":           {0, 1, 2, 3},
	} {
		t.Run(order, func(t *testing.T) {
			letters := strings.Fields(order)
			maps := make([]map[string]string, len(letters))
			for i, c := range letters {
				maps[i] = map[string]string{"k": c}
			}
			got, err := Order(labelled(maps...), indexes(len(letters)), Ordering{Scatter: term})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Pods updated already count: where they had more than their share of the term, the others come first.
func TestScatterMakesUpForWhatIsUpdated(t *testing.T) {
	a, other := map[string]string{"k": "A"}, map[string]string{"k": "."}
	all := labelled(other, other, other, other, a, a, a, a, a, a)
	got, err := Order(all, indexes(6), Ordering{Scatter: appsv1beta1.UpdateScatterStrategy{{Key: "k", Value: "A"}}})
	if err != nil || !slices.Equal(got, []int{0, 1, 2, 4, 3, 5}) {
		t.Errorf("order %v, %v", got, err)
	}
}

// Of several terms those that match more pods are applied first, and those that match none not at all.
func TestScatterTerms(t *testing.T) {
	terms := appsv1beta1.UpdateScatterStrategy{{Key: "few", Value: "1"}, {Key: "none", Value: "1"}, {Key: "many", Value: "1"}}
	all := labelled(map[string]string{"many": "1", "few": "1"}, map[string]string{"many": "1"}, nil)
	want := []appsv1beta1.UpdateScatterTerm{{Key: "many", Value: "1"}, {Key: "few", Value: "1"}}
	if diff := cmp.Diff(want, effectiveTerms(all, indexes(3), terms)); diff != "" {
		t.Error(diff)
	}
	if got := effectiveTerms(all, indexes(3), terms[1:2]); len(got) != 1 {
		t.Errorf("a single term is used as it is: %v", got)
	}
}

// Nobody is lost or doubled, whatever has been updated already and however many terms there are.
func TestScatterKeepsEveryPod(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 5000 {
		maps := make([]map[string]string, r.Intn(14))
		for i := range maps {
			maps[i] = map[string]string{"a": fmt.Sprint(r.Intn(2)), "b": fmt.Sprint(r.Intn(3))}
		}
		var candidates []int
		for i := range maps {
			if r.Intn(3) > 0 {
				candidates = append(candidates, i)
			}
		}
		got, err := Order(labelled(maps...), candidates, Ordering{Scatter: appsv1beta1.UpdateScatterStrategy{
			{Key: "a", Value: "1"}, {Key: "b", Value: "2"}, {Key: "c", Value: "0"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if !slices.Equal(got, candidates) {
			t.Fatalf("%v became %v", candidates, got)
		}
	}
}

func TestPriority(t *testing.T) {
	selector := func(v string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"k": v}}
	}
	weight := &appsv1beta1.UpdatePriorityStrategy{WeightPriority: []appsv1beta1.UpdatePriorityWeightTerm{
		{Weight: 20, MatchSelector: selector("a")}, {Weight: 10, MatchSelector: selector("b")},
		{Weight: 15, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{"x": "1"}}},
	}}
	order := &appsv1beta1.UpdatePriorityStrategy{OrderPriority: []appsv1beta1.UpdatePriorityOrderTerm{{OrderedKey: "first"}, {OrderedKey: "second"}}}
	for name, tc := range map[string]struct {
		strategy *appsv1beta1.UpdatePriorityStrategy
		pods     []Pod
		want     []int
	}{
		"sum of weights":  {weight, labelled(map[string]string{"k": "b"}, map[string]string{"k": "a"}, map[string]string{"k": "b", "x": "1"}, nil), []int{2, 1, 0, 3}},
		"equal is stable": {weight, labelled(nil, map[string]string{"k": "c"}, nil), []int{0, 1, 2}},
		"trailing integer, larger first, none before all": {order, labelled(
			map[string]string{"first": "g-2"}, map[string]string{"second": "g-9"}, map[string]string{"first": "g-10"}, nil, map[string]string{"first": "x"}), []int{3, 2, 0, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Order(tc.pods, indexes(len(tc.pods)), Ordering{Priority: tc.strategy})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	bad := &appsv1beta1.UpdatePriorityStrategy{WeightPriority: []appsv1beta1.UpdatePriorityWeightTerm{{MatchSelector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Nonsense"}}}}}}
	if _, err := Order(labelled(nil), indexes(1), Ordering{Priority: bad}); err == nil {
		t.Error("an unreadable selector must be an error")
	}
}

func TestPreparingUpdateComesFirst(t *testing.T) {
	pods := labelled(nil, map[string]string{appsv1beta1.LifecycleStateKey: string(appsv1beta1.LifecycleStatePreparingUpdate)})
	got, _ := Order(pods, indexes(2), Ordering{})
	if !slices.Equal(got, []int{1, 0}) {
		t.Errorf("order %v", got)
	}
}

// ranked makes a running, ready, available pod on a node and lets change make it less so.
func ranked(name, node string, change func(*Pod)) Pod {
	p := Pod{Available: true, Ready: true, Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1000, 0)},
		Spec:       corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(2000, 0)}}},
	}}
	if change != nil {
		change(&p)
	}
	return p
}

func cost(v string) func(*Pod) {
	return func(p *Pod) { p.Annotations = map[string]string{appsv1beta1.PodDeletionCostKey: v} }
}

func TestScaleDownOrder(t *testing.T) {
	ready := func(at int64) func(*Pod) {
		return func(p *Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.Unix(at, 0)
			if at == 0 {
				p.Status.Conditions[0].LastTransitionTime = metav1.Time{}
			}
		}
	}
	for name, tc := range map[string]struct {
		pods []Pod
		want []string
	}{
		"the full ladder": {[]Pod{
			ranked("plain", "n1", nil),
			ranked("newer", "n2", func(p *Pod) { p.CreationTimestamp = metav1.Unix(1500, 0) }),
			ranked("restarted", "n3", func(p *Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} }),
			ranked("later-ready", "n4", ready(2500)),
			ranked("cheap", "n5", cost("-5")),
			ranked("not-ready", "n6", func(p *Pod) { p.Available, p.Status.Conditions = false, nil }),
			ranked("unavailable", "n7", func(p *Pod) { p.Available = false }),
			ranked("pending", "n8", func(p *Pod) { p.Status.Phase, p.Available = corev1.PodPending, false }),
			ranked("unassigned", "", func(p *Pod) { p.Status.Phase, p.Available = corev1.PodPending, false }),
			ranked("dear", "n9", cost("5")),
		}, []string{"unassigned", "pending", "not-ready", "unavailable", "cheap", "later-ready", "restarted", "newer", "plain", "dear"}},
		"cost must be a plain integer": {[]Pod{
			ranked("a", "n1", cost("+10")), ranked("b", "n2", cost("008")), ranked("c", "n3", cost("-1")), ranked("d", "n4", cost("1")),
		}, []string{"c", "a", "b", "d"}},
		"no time before any": {[]Pod{
			ranked("known", "n1", nil), ranked("never-ready", "n2", ready(0)), ranked("never-made", "n3", func(p *Pod) { p.CreationTimestamp = metav1.Time{} }),
		}, []string{"never-ready", "never-made", "known"}},
		"phase Unknown stands between": {[]Pod{
			ranked("running", "n1", func(p *Pod) { p.Available, p.Status.Conditions = false, nil }),
			ranked("unknown", "n2", func(p *Pod) { p.Available, p.Status.Phase = false, corev1.PodUnknown }),
			ranked("pending", "n3", func(p *Pod) { p.Available, p.Status.Phase = false, corev1.PodPending }),
		}, []string{"pending", "unknown", "running"}},
		"same node is thinned out first": {[]Pod{
			ranked("alone", "n1", nil), ranked("x", "n2", nil), ranked("y", "n2", nil), ranked("z", "n2", nil),
		}, []string{"x", "y", "alone", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, at := range ScaleDownOrder(tc.pods, indexes(len(tc.pods)), Topology{}) {
				got = append(got, tc.pods[at].Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpreadConstraintsRank(t *testing.T) {
	zones := map[string]string{"n1": "a", "n2": "a", "n3": "b", "n4": ""}
	topology := Topology{
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}},
		NodeLabels: func(node string) (map[string]string, bool) {
			zone, ok := zones[node]
			if zone == "" {
				return nil, ok
			}
			return map[string]string{"zone": zone}, ok
		},
	}
	pods := []Pod{ranked("a1", "n1", nil), ranked("a2", "n2", nil), ranked("a3", "n2", nil), ranked("b1", "n3", nil), ranked("lost", "n9", nil), ranked("nozone", "n4", nil)}
	var got []string
	for _, at := range ScaleDownOrder(pods, indexes(len(pods)), topology) {
		got = append(got, pods[at].Name)
	}
	// Zone a has three: two of them go before the only one of zone b; unknown nodes go last.
	if diff := cmp.Diff([]string{"a2", "a1", "a3", "b1", "lost", "nozone"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// On the topology of nodes, being alone on a node counts and not what else is on it.
func TestSpreadOverNodes(t *testing.T) {
	topology := Topology{
		Constraints: []corev1.TopologySpreadConstraint{{TopologyKey: hostnameTopology}},
		NodeLabels:  func(node string) (map[string]string, bool) { return map[string]string{hostnameTopology: node}, true },
	}
	pods := []Pod{ranked("alone", "n1", nil), ranked("a", "n2", nil), ranked("b", "n2", nil)}
	var got []string
	for _, at := range ScaleDownOrder(pods, indexes(len(pods)), topology) {
		got = append(got, pods[at].Name)
	}
	if diff := cmp.Diff([]string{"a", "alone", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ranks := topology.ranks(pods, indexes(len(pods)))
	if ln := math.Log(4); ranks[1] != 2*ln || ranks[0] != ln || ranks[2] != ln {
		t.Errorf("ranks %v", ranks)
	}
}

func TestBaseOrder(t *testing.T) {
	pods := []Pod{
		ranked("old", "n1", nil),
		ranked("young", "n1", func(p *Pod) { p.CreationTimestamp = metav1.NewTime(time.Unix(1900, 0)) }),
		ranked("restarted", "n1", func(p *Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }),
		ranked("superseded", "n1", func(p *Pod) { p.Superseded = true }),
		ranked("later ready", "n1", func(p *Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Unix(2500, 0) }),
		ranked("unready", "n1", func(p *Pod) { p.Status.Conditions = nil }),
		ranked("unknown", "n1", func(p *Pod) { p.Status.Phase = corev1.PodUnknown }),
		ranked("pending", "n1", func(p *Pod) { p.Status.Phase = corev1.PodPending }),
		ranked("unassigned", "", nil),
	}
	got, _ := Order(pods, indexes(len(pods)), Ordering{})
	if !slices.Equal(got, []int{8, 7, 6, 5, 3, 4, 2, 1, 0}) {
		t.Errorf("order %v", got)
	}
}
