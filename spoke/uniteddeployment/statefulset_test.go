// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// statefulSetUD is a UnitedDeployment named web with a StatefulSet template.
func statefulSetUD(replicas int32, subsets ...appsv1beta1.Subset) *appsv1beta1.UnitedDeployment {
	ud := cloneSetUD(replicas, subsets...)
	ud.Spec.Template = appsv1beta1.SubsetTemplate{StatefulSetTemplate: &appsv1beta1.StatefulSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       appsv1.StatefulSetSpec{ServiceName: "web", Template: podTemplate("web:v1")},
	}}
	return ud
}

func TestStatefulSetPartition(t *testing.T) {
	ud := statefulSetUD(5, subset("a", 5))
	for strategy, want := range map[appsv1.StatefulSetUpdateStrategyType]string{
		"": "RollingUpdate 2, compared as 2", "RollingUpdate": "RollingUpdate 2, compared as 2", "OnDelete": "OnDelete",
	} {
		ud.Spec.Template.StatefulSetTemplate.Spec.UpdateStrategy.Type = strategy
		obj, err := desired(ud, statefulSetAdapter{}, &ud.Spec.Topology.Subsets[0], "web-2", sizing{replicas: 5, partition: 2})
		if err != nil {
			t.Fatal(err)
		}
		set, n := obj.(*appsv1.StatefulSet), statefulSetAdapter{}.read(obj)
		got := string(set.Spec.UpdateStrategy.Type)
		if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			got += fmt.Sprintf(" %d", *rolling.Partition)
		}
		if n.partitioned {
			got += fmt.Sprintf(", compared as %d", n.partition)
		}
		if got != want || *set.Spec.Replicas != 5 || set.Spec.ServiceName != "web" || set.Kind != "StatefulSet" || set.APIVersion != "apps/v1" {
			t.Errorf("strategy %q: %s, want %s (%+v)", strategy, got, want, set.Spec)
		}
	}
	if was := ud.Spec.Template.StatefulSetTemplate.Spec.UpdateStrategy.RollingUpdate; was != nil {
		t.Errorf("the template was changed: %+v", was)
	}
}

func TestStuckPods(t *testing.T) {
	pod := func(name, revision string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1beta1.SubsetRevisionLabel: revision}}}
		if change != nil {
			change(p)
		}
		return p
	}
	ready := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	all := []*corev1.Pod{
		pod("web-a-x-0", "web-1", nil), pod("web-a-x-1", "web-1", nil), pod("web-a-x-2", "web-1", ready), pod("web-a-x-3", "web-2", nil),
		pod("web-a-x-4", "web-1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), pod("web-a-x-5", "web-1", nil), pod("stray", "web-1", nil),
	}
	for name, tc := range map[string]struct {
		change func(*appsv1beta1.UnitedDeployment, *liveSubset)
		want   []string
	}{
		"beyond the partition": {nil, []string{"web-a-x-1", "web-a-x-5"}},
		"not updated yet": {func(_ *appsv1beta1.UnitedDeployment, l *liveSubset) {
			l.object.SetLabels(map[string]string{appsv1beta1.SubsetRevisionLabel: "web-1"})
		}, nil},
		"on delete":     {func(_ *appsv1beta1.UnitedDeployment, l *liveSubset) { l.partitioned = false }, nil},
		"of a CloneSet": {func(ud *appsv1beta1.UnitedDeployment, _ *liveSubset) { ud.Spec.Template = cloneSetUD(1).Spec.Template }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ud := statefulSetUD(7, subset("a", 7))
			live := atRest(ud, "a", sizing{replicas: 7, partition: 1})
			live.pods = all
			if tc.change != nil {
				tc.change(ud, &live)
			}
			var got []string
			for _, p := range stuckPods(snapshotOf(ud, live), &live) {
				got = append(got, p.Name)
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A pass deletes stuck pods once the StatefulSet is as it should be, not before.
func TestStuckPodsWaitForTheUpdate(t *testing.T) {
	ud := statefulSetUD(1, subset("a", 1))
	live := atRest(ud, "a", sizing{replicas: 1})
	live.pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-a-x-0"}}}
	if p := makePlan(snapshotOf(ud, live)); len(p.stuck) != 1 || len(p.updates) != 0 {
		t.Errorf("stuck %v, updates %v", p.stuck, p.updates)
	}
	live.replicas = 2
	if p := makePlan(snapshotOf(ud, live)); len(p.stuck) != 0 || len(p.updates) != 1 {
		t.Errorf("stuck %v, updates %v", p.stuck, p.updates)
	}
}
