// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// advancedUD is a UnitedDeployment named web with an Advanced StatefulSet template.
func advancedUD(replicas int32, subsets ...appsv1beta1.Subset) *appsv1beta1.UnitedDeployment {
	ud := cloneSetUD(replicas, subsets...)
	ud.Spec.Template = appsv1beta1.SubsetTemplate{AdvancedStatefulSetTemplate: &appsv1beta1.AdvancedStatefulSetTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       appsv1beta1.StatefulSetSpec{ServiceName: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate("web:v1")},
	}}
	return ud
}

func TestAdvancedStatefulSetPartition(t *testing.T) {
	ud := advancedUD(5, subset("a", 5))
	for strategy, want := range map[appsv1.StatefulSetUpdateStrategyType]string{
		"": " 2, compared as 2", "RollingUpdate": "RollingUpdate 2, compared as 2", "OnDelete": "OnDelete",
	} {
		ud.Spec.Template.AdvancedStatefulSetTemplate.Spec.UpdateStrategy.Type = strategy
		obj, err := desired(ud, adapterOf(&ud.Spec.Template), &ud.Spec.Topology.Subsets[0], "web-2", sizing{replicas: 5, partition: 2})
		if err != nil {
			t.Fatal(err)
		}
		set, n := obj.(*appsv1beta1.StatefulSet), advancedStatefulSetAdapter{}.read(obj)
		got := string(set.Spec.UpdateStrategy.Type)
		if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			got += fmt.Sprintf(" %d", *rolling.Partition)
		}
		if n.partitioned {
			got += fmt.Sprintf(", compared as %d", n.partition)
		}
		if got != want || *set.Spec.Replicas != 5 || set.Spec.ServiceName != "web" || set.Kind != "StatefulSet" || set.APIVersion != "apps.kruise.io/v1beta1" {
			t.Errorf("strategy %q: %s, want %s (%+v)", strategy, got, want, set.Spec)
		}
	}
	if was := ud.Spec.Template.AdvancedStatefulSetTemplate.Spec.UpdateStrategy.RollingUpdate; was != nil {
		t.Errorf("the template was changed: %+v", was)
	}
}

func TestUnserved(t *testing.T) {
	for name, tc := range map[string]struct {
		adapter adapter
		kinds   []schema.GroupVersionKind
		want    string
	}{
		"no template":    {nil, nil, "has no template"},
		"not installed":  {advancedStatefulSetAdapter{}, []schema.GroupVersionKind{statefulSetAdapter{}.kind()}, "did not know kind StatefulSet of apps.kruise.io/v1beta1"},
		"the like known": {statefulSetAdapter{}, []schema.GroupVersionKind{statefulSetAdapter{}.kind()}, ""},
	} {
		if got := unserved(tc.adapter, tc.kinds); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
