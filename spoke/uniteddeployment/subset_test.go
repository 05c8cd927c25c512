// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package uniteddeployment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

func in(key string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func TestDesiredCloneSet(t *testing.T) {
	ud := cloneSetUD(3, subset("a", 3))
	ud.Spec.Template.CloneSetTemplate.Spec.MinReadySeconds = 7
	ud.Spec.Topology.Subsets[0].Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	ud.Spec.Topology.Subsets[0].Patch = runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"main","env":[{"name":"E","value":"1"}]}]}}`)}
	before := ud.DeepCopy()
	obj, err := desired(ud, cloneSetAdapter{}, &ud.Spec.Topology.Subsets[0], "web-2", sizing{replicas: 3, partition: 1})
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]string{"app": "web", "apps.kruise.io/subset-name": "a", "apps.kruise.io/controller-revision-hash": "web-2"}
	labels := overlay(marks, map[string]string{"team": "a"})
	yes := true
	want := &appsv1beta1.CloneSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps.kruise.io/v1beta1", Kind: "CloneSet"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", GenerateName: "web-a-", Labels: labels,
			Annotations:     map[string]string{"note": "n", "apps.kruise.io/subset-patch": string(ud.Spec.Topology.Subsets[0].Patch.Raw)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1beta1", Kind: "UnitedDeployment", Name: "web", UID: "ud-uid", Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		Spec: appsv1beta1.CloneSetSpec{
			Replicas:        ptr.To[int32](3),
			Selector:        &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web", "apps.kruise.io/subset-name": "a"}},
			MinReadySeconds: 7,
			UpdateStrategy:  appsv1beta1.CloneSetUpdateStrategy{RollingUpdate: &appsv1beta1.RollingUpdateCloneSetStrategy{Partition: ptr.To(intstr.FromInt32(1))}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: marks},
				Spec: corev1.PodSpec{
					Containers:  []corev1.Container{{Name: "main", Image: "web:v1", Env: []corev1.EnvVar{{Name: "E", Value: "1"}}}},
					Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
					Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in("topology.kubernetes.io/zone", "zone-a")}}},
					}}},
				},
			},
		},
	}
	if d := cmp.Diff(want, obj); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, ud); d != "" {
		t.Errorf("the UnitedDeployment was changed: %s", d)
	}
}

func TestDesiredDeployment(t *testing.T) {
	ud := deploymentUD(2, subset("a", 2))
	ud.Spec.Template.DeploymentTemplate.Spec.MinReadySeconds = 7
	ud.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	obj, err := desired(ud, deploymentAdapter{}, &ud.Spec.Topology.Subsets[0], "web-2", sizing{replicas: 2, partition: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := obj.(*appsv1.Deployment)
	if *d.Spec.Replicas != 2 || d.Spec.MinReadySeconds != 7 {
		t.Errorf("spec = %+v", d.Spec)
	}
	want := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"apps.kruise.io/subset-name": "a"},
		MatchExpressions: ud.Spec.Selector.MatchExpressions,
	}
	if diff := cmp.Diff(want, d.Spec.Selector); diff != "" {
		t.Error(diff)
	}
}

func TestBind(t *testing.T) {
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	term := func(list ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: list}
	}
	plain := &appsv1beta1.Subset{Name: "p"}
	fields := &appsv1beta1.Subset{Name: "f", NodeSelectorTerm: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n")}}}
	zone := &appsv1beta1.Subset{Name: "z", NodeSelectorTerm: term(in("zone", "z"))}
	preferred := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1}}}}
	for name, tc := range map[string]struct {
		before *corev1.Affinity
		subset *appsv1beta1.Subset
		want   *corev1.Affinity
	}{
		"no expressions: no empty affinity": {nil, plain, nil},
		"fields do not count":               {nil, fields, nil},
		"no affinity yet":                   {nil, zone, required(term(in("zone", "z")))},
		"no term yet":                       {required(), zone, required(term(in("zone", "z")))},
		"every term gets it":                {required(term(in("a", "1")), term(in("b", "2"))), zone, required(term(in("a", "1"), in("zone", "z")), term(in("b", "2"), in("zone", "z")))},
		"preferences stay": {preferred, zone, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: preferred.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			RequiredDuringSchedulingIgnoredDuringExecution:  required(term(in("zone", "z"))).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &corev1.PodSpec{Affinity: tc.before.DeepCopy()}
			bind(spec, tc.subset)
			if d := cmp.Diff(tc.want, spec.Affinity); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNames(t *testing.T) {
	if got := namePrefix("web", "a"); got != "web-a-" {
		t.Errorf("prefix = %s", got)
	}
	if got := namePrefix(strings.Repeat("w", 250), "subset"); got != strings.Repeat("w", 250)+"-" {
		t.Errorf("prefix of a long name = %s", got)
	}
	first := workloadName("web-a-", "u", "a", "CloneSet", 0)
	if len(first) != len("web-a-")+5 || !strings.HasPrefix(first, "web-a-") {
		t.Errorf("name = %s", first)
	}
	if again := workloadName("web-a-", "u", "a", "CloneSet", 0); again != first {
		t.Errorf("the name moved from %s to %s", first, again)
	}
	for i, other := range []string{
		workloadName("web-a-", "v", "a", "CloneSet", 0), workloadName("web-a-", "u", "b", "CloneSet", 0),
		workloadName("web-a-", "u", "a", "Deployment", 0), workloadName("web-a-", "u", "a", "CloneSet", 1),
	} {
		if other == first {
			t.Errorf("name %d is the same: %s", i, other)
		}
	}
	if got := workloadName(strings.Repeat("w", 250)+"-", "u", "a", "CloneSet", 0); len(got) != 63 {
		t.Errorf("long name has %d characters", len(got))
	}
}

func TestPayloadKeepsNullTimestamps(t *testing.T) {
	ud := cloneSetUD(1, subset("a", 1))
	ud.Spec.Template.CloneSetTemplate.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	got, err := payload(&ud.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"spec":{"template":{"$patch":"replace","cloneSetTemplate":{"metadata":{"annotations":{"note":"n"},"creationTimestamp":null,"labels":{"app":"web","team":"a"}},` +
		`"spec":{"scaleStrategy":{},"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":{"containers":[{"image":"web:v1","name":"main","resources":{}}]}},` +
		`"updateStrategy":{},"volumeClaimTemplates":[{"metadata":{"creationTimestamp":null,"name":"data"},"spec":{"resources":{}},"status":{}}]}}}}}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if !json.Valid(got) {
		t.Error("no JSON")
	}
}
